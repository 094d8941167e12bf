//! What LLVM has made, kept in files: a text is compiled once for all processes, not once in each.
//!
//! A file is named by a hash of what its object is made from, and holds all of that, so that nothing rests on the hash.
//! Files are written under another name and renamed, so that none is ever half there; one that is damaged is as good as
//! none. What is in the folder becomes code: who names it sees to it that it is
//! this user's alone.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

/// First bytes of a file, with the version of the format.
const MAGIC: &[u8; 8] = b"lthook\x01\n";
/// Bytes of all files. With more, the oldest go, until there is half of it.
const MOST: u64 = 64 << 20;
/// Of the sources of this module: what another build makes of a text may be something else.
const SOURCES: &str = env!("LUTHIER_HOOK_SOURCES");

static FOLDER: RwLock<Option<PathBuf>> = RwLock::new(None);

/// Keeps objects in a folder from now on, or no longer. No other user may write to it.
pub fn keep_in(folder: Option<PathBuf>) {
    *FOLDER.write().unwrap_or_else(PoisonError::into_inner) = folder;
}

/// The object made from these parts, which are all that it depends on beside this build of Luthier and LLVM's; kept, or
/// made now.
pub fn object<E>(parts: &[&[u8]], make: impl FnOnce() -> Result<Vec<u8>, E>) -> Result<Vec<u8>, E> {
    let Some(folder) = FOLDER.read().unwrap_or_else(PoisonError::into_inner).clone() else { return make() };
    let mut key = Vec::new();
    for part in [SOURCES.as_bytes(), super::llvm::version().as_bytes()].iter().chain(parts) {
        key.extend((part.len() as u64).to_le_bytes());
        key.extend(*part);
    }
    let path = folder.join(format!("{:016x}", hash(&key)));
    if let Some(object) = read(&path, &key) {
        return Ok(object);
    }
    let object = make()?;
    // Without the file it works as well, only slower: a full disk is no reason to fail.
    let _ = write(&folder, &path, &key, &object);
    Ok(object)
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// A file to be read. Opening anything else, a pipe for example, may wait for ever.
fn regular(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// What a file holds, if it was made from `key` and is whole.
fn read(path: &Path, key: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    regular(path).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?;
    let (sum, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (known, object) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    (known == key && hash(rest) == u64::from_le_bytes(*sum)).then(|| object.to_vec())
}

fn write(folder: &Path, path: &Path, key: &[u8], object: &[u8]) -> io::Result<()> {
    let rest = [key, object].concat();
    let mut bytes = MAGIC.to_vec();
    bytes.extend(hash(&rest).to_le_bytes());
    bytes.extend((key.len() as u64).to_le_bytes());
    bytes.extend(rest);
    make_room(folder, bytes.len() as u64)?;
    let new = path.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    // Whatever has this name, it is not written to.
    let _ = fs::remove_file(&new);
    let done = File::create_new(&new).and_then(|mut file| file.write_all(&bytes)).and_then(|()| fs::rename(&new, path));
    done.inspect_err(|_| drop(fs::remove_file(&new)))
}

fn make_room(folder: &Path, bytes: u64) -> io::Result<()> {
    let entries = fs::read_dir(folder)?.filter_map(Result::ok).filter_map(|e| Some((e.metadata().ok()?, e.path())));
    let mut files: Vec<_> = entries.filter(|(found, _)| found.is_file()).collect();
    let mut size = files.iter().map(|(found, _)| found.len()).sum::<u64>() + bytes;
    if size <= MOST {
        return Ok(());
    }
    files.sort_by_key(|(found, _)| (found.mtime(), found.mtime_nsec()));
    for (found, path) in files {
        if size <= MOST / 2 {
            break;
        }
        // Another process may have done it.
        let _ = fs::remove_file(path);
        size -= found.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of a test's own, gone behind it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("luthier-kept-{}-{name}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Folder(path)
        }
    }
    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn an_object_comes_back_for_what_it_was_made_from_and_for_nothing_else() {
        let folder = Folder::new("same");
        let path = folder.0.join("0");
        assert_eq!(read(&path, b"key"), None);
        write(&folder.0, &path, b"key", b"object").unwrap();
        assert_eq!(read(&path, b"key").as_deref(), Some(&b"object"[..]));
        // As if another key had this hash.
        assert_eq!(read(&path, b"kex"), None);
        assert_eq!(read(&path, b"keyo"), None);
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let folder = Folder::new("damaged");
        let path = folder.0.join("0");
        write(&folder.0, &path, b"key", b"object").unwrap();
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(read(&path, b"key"), None, "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(read(&path, b"key"), None, "cut at {at}");
        }
    }

    #[test]
    fn what_is_no_file_is_as_good_as_none_and_gives_way_if_it_can() {
        let folder = Folder::new("odd");
        let path = folder.0.join("0");
        let odd: [(&str, &dyn Fn()); 5] = [
            ("a pipe", &|| assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success())),
            ("a folder", &|| fs::create_dir(&path).unwrap()),
            ("a socket", &|| drop(std::os::unix::net::UnixListener::bind(&path).unwrap())),
            ("a link to itself", &|| std::os::unix::fs::symlink(&path, &path).unwrap()),
            ("a link to a device", &|| std::os::unix::fs::symlink("/dev/zero", &path).unwrap()),
        ];
        for (what, make) in odd {
            make();
            assert_eq!(read(&path, b"key"), None, "{what}");
            let is_folder = path.is_dir();
            assert_eq!(write(&folder.0, &path, b"key", b"object").is_ok(), !is_folder, "{what}");
            assert_eq!(read(&path, b"key").is_some(), !is_folder, "{what}");
            if is_folder {
                fs::remove_dir(&path).unwrap()
            } else {
                fs::remove_file(&path).unwrap()
            }
            assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0, "{what}");
        }
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let folder = Folder::new("many");
        for (n, mib) in [30, 20, 12].iter().enumerate() {
            let file = File::create(folder.0.join(n.to_string())).unwrap();
            file.set_len(mib << 20).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(n as u64)).unwrap();
        }
        write(&folder.0, &folder.0.join("new"), b"key", &vec![0; 3 << 20]).unwrap();
        let left: Vec<bool> = ["0", "1", "2", "new"].iter().map(|n| folder.0.join(n).exists()).collect();
        assert_eq!(left, [false, false, true, true]);
    }
}
