// Arrays: memory that only images see, copied in and out, and read and written by kernels as surfaces.
#include "check.h"

template <class T> struct Host {
    size_t width, height, depth;
    std::vector<T> texels;
    Host(size_t width, size_t height = 1, size_t depth = 1)
        : width(width), height(height), depth(depth), texels(width * height * depth) {}
    T &at(size_t x, size_t y = 0, size_t z = 0) { return texels[(z * height + y) * width + x]; }
    void fill(int seed) {
        unsigned char *bytes = (unsigned char *)texels.data();
        for (size_t i = 0; i < texels.size() * sizeof(T); i++) bytes[i] = (i * 31 + seed) ^ (i >> 7);
    }
    bool operator==(const Host &other) const {
        return !memcmp(texels.data(), other.texels.data(), texels.size() * sizeof(T));
    }
};

template <class T> static void round_trip(size_t width, size_t height) {
    hipChannelFormatDesc format = hipCreateChannelDesc<T>();
    hipArray *array;
    HIP(hipMallocArray(&array, &format, width, height, hipArrayDefault));
    Host<T> in(width, height), out(width, height), expected(width, height);
    in.fill(width + height);
    const size_t row = width * sizeof(T);
    HIP(hipMemcpy2DToArray(array, 0, 0, in.texels.data(), row, row, height, hipMemcpyHostToDevice));
    HIP(hipMemcpy2DFromArray(out.texels.data(), row, array, 0, 0, row, height, hipMemcpyDeviceToHost));
    CHECK(in == out);
    // A rectangle in the middle, from memory with longer rows.
    expected = in;
    size_t x = width / 3, y = height / 2, w = width - x - width / 5, h = height - y;
    Host<T> patch(w + 3, h);
    patch.fill(77);
    HIP(hipMemcpy2DToArray(array, x * sizeof(T), y, patch.texels.data(), (w + 3) * sizeof(T), w * sizeof(T), h,
                           hipMemcpyHostToDevice));
    for (size_t j = 0; j < h; j++)
        for (size_t i = 0; i < w; i++) expected.at(x + i, y + j) = patch.at(i, j);
    // By way of the device's linear memory, without gaps between rows: HIP 5.2.3 knows no pitch there.
    char *linear;
    HIP(hipMalloc(&linear, row * height));
    HIP(hipMemcpy2DFromArray(linear, row, array, 0, 0, row, height, hipMemcpyDeviceToDevice));
    HIP(hipMemcpy(out.texels.data(), linear, row * height, hipMemcpyDeviceToHost));
    CHECK(out == expected);
    HIP(hipFree(linear));
    HIP(hipFreeArray(array));
}

static void plane() {
    round_trip<unsigned char>(300, 200);
    round_trip<short>(64, 16);
    round_trip<int>(5, 3);
    round_trip<int>(100, 37);
    round_trip<float>(300, 200);
    round_trip<float2>(130, 70);
    round_trip<float4>(40, 9);
    round_trip<int4>(1, 1);
}

static void line() {
    hipChannelFormatDesc format = hipCreateChannelDesc<int>();
    hipArray *array;
    HIP(hipMallocArray(&array, &format, 1000, 0, hipArrayDefault));
    Host<int> in(1000), out(1000);
    in.fill(3);
    HIP(hipMemcpyToArray(array, 0, 0, in.texels.data(), 4000, hipMemcpyHostToDevice));
    HIP(hipMemcpyFromArray(out.texels.data(), array, 0, 0, 4000, hipMemcpyDeviceToHost));
    CHECK(in == out);
    HIP(hipFreeArray(array));
}

template <class T> static void volume_of(size_t width, size_t height, size_t depth, unsigned flags) {
    hipChannelFormatDesc format = hipCreateChannelDesc<T>();
    hipArray *array;
    HIP(hipMalloc3DArray(&array, &format, make_hipExtent(width, height, depth), flags));
    Host<T> in(width, height, depth), out(width, height, depth);
    in.fill(depth);
    hipMemcpy3DParms to = {};
    to.srcPtr = make_hipPitchedPtr(in.texels.data(), width * sizeof(T), width, height);
    to.dstArray = array;
    to.extent = make_hipExtent(width, height, depth);
    to.kind = hipMemcpyHostToDevice;
    HIP(hipMemcpy3D(&to));
    hipMemcpy3DParms from = {};
    from.srcArray = array;
    from.dstPtr = make_hipPitchedPtr(out.texels.data(), width * sizeof(T), width, height);
    from.extent = to.extent;
    from.kind = hipMemcpyDeviceToHost;
    HIP(hipMemcpy3D(&from));
    CHECK(in == out);
    HIP(hipFreeArray(array));
}

static void volumes() {
    volume_of<int>(40, 9, 7, hipArrayDefault);
    volume_of<unsigned char>(70, 40, 35, hipArrayDefault);
    volume_of<float4>(16, 16, 16, hipArrayDefault);
    volume_of<float2>(64, 64, 20, hipArrayDefault);
}

static void layers() {
    volume_of<int>(40, 9, 7, hipArrayLayered);
    volume_of<float4>(100, 60, 3, hipArrayLayered);
}

// Floats: HIP 5.2.3 makes floats of all that it reads and writes.
__global__ void turn(hipSurfaceObject_t from, hipSurfaceObject_t to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float value;
#if !__HIP_NO_IMAGE_SUPPORT  // CDNA3 has no images.
    surf2Dread(&value, from, x * 4, y);
    surf2Dwrite(value * 2 + 1, to, y * 4, x);
#endif
}

static void surfaces() {
    const int width = 90, height = 50;
    hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    hipArray *arrays[2];
    hipSurfaceObject_t objects[2];
    HIP(hipMallocArray(&arrays[0], &format, width, height, hipArrayDefault));
    HIP(hipMallocArray(&arrays[1], &format, height, width, hipArrayDefault));
    for (int i = 0; i < 2; i++) {
        hipResourceDesc resource = {};
        resource.resType = hipResourceTypeArray;
        resource.res.array.array = arrays[i];
        HIP(hipCreateSurfaceObject(&objects[i], &resource));
    }
    Host<float> in(width, height), out(height, width);
    for (int i = 0; i < width * height; i++) in.texels[i] = i * 0.75f - 900;
    HIP(hipMemcpy2DToArray(arrays[0], 0, 0, in.texels.data(), width * 4, width * 4, height, hipMemcpyHostToDevice));
    turn<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(objects[0], objects[1], width, height);
    HIP(hipGetLastError());
    HIP(hipMemcpy2DFromArray(out.texels.data(), height * 4, arrays[1], 0, 0, height * 4, width, hipMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) CHECK(out.at(y, x) == in.at(x, y) * 2 + 1);
    for (int i = 0; i < 2; i++) {
        HIP(hipDestroySurfaceObject(objects[i]));
        HIP(hipFreeArray(arrays[i]));
    }
}

CASES({"plane", plane}, {"line", line}, {"volumes", volumes}, {"layers", layers}, {"surfaces", surfaces})
