"""Prints the requirements of one extra of pyproject.toml, with the project's own dependencies, one to a line."""

import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)["project"]
print(*project["dependencies"], *project["optional-dependencies"][sys.argv[2]], sep="\n")
