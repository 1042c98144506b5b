#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the layers of src/kasimir against what their CMakeLists.txt declare.

    tools/check_layers.py [ROOT]

Prints one line `file:line: what is wrong` per finding and ends with 1 where there is any. The rules:
  - a file includes only layers that its own layer uses, directly or through another;
  - no layer uses itself, through however many others; a layer that is used is included;
  - each .h and .cpp of a layer is listed in its CMakeLists.txt;
  - a source file has at most 500 lines;
  - a type is defined in one header: two of one name in one namespace would be one to the linker;
  - a primitive is named in src/kasimir/primitive only. Where another layer means something else by the word, the
    line ends with `// names a primitive: WHY`, or a line `// names primitives: WHY` stands for its whole file.
"""

import pathlib
import re
import subprocess
import sys

MOST_LINES = 500
SOURCES = {".h", ".cpp"}
MEASURED = SOURCES | {".py", ".html", ".js", ".css"}
# The layers of a network are convolutions, pools and activations too: only primitive:: can betray it.
OTHER_WORDS = {"network"}
LINE_EXEMPT = re.compile(r"// names a primitive: \S")
FILE_EXEMPT = re.compile(r"^\s*// names primitives: \S", re.MULTILINE)
INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
NAMESPACE = re.compile(r"namespace ([\w:]+) \{")
TYPE = re.compile(r"(?:enum class|enum struct|struct|class|union|enum) (\w+)(?: final)?(?: :(?!:)[^;{]*)? \{")
# A string literal, a name behind primitive::, or a comment, whichever begins first.
NAMING = re.compile(r'"((?:[^"\\]|\\.)*)"|\bprimitive::(\w+)|//.*')


class Layer:
    """What one CMakeLists.txt declares: the files it lists and {used layer: line}."""

    def __init__(self, name, path, text):
        self.name = name
        self.path = path
        text = re.sub(r"#[^\n]*", "", text)
        self.variables = {m[1]: m[2].split() for m in re.finditer(r"\bset\s*\(\s*(\w+)\s([^)]*)\)", text)}
        self.listed = set(re.findall(r"[\w./-]+\.(?:h|cpp)\b", text))
        self.listed |= {f"{stem}{suffix}" for stem in self.variables.get("primitives", []) for suffix in SOURCES}
        self.uses = {}
        self.line = 1
        call = re.search(r"\bkasimir_layer\s*\(\s*" + re.escape(name) + r"\b([^)]*)\)", text)
        self.declared = call is not None
        if call:
            self.line = text.count("\n", 0, call.start()) + 1
            self._read_uses(text, call)

    def _read_uses(self, text, call):
        keyword = None
        for word in re.finditer(r"\S+", call[1]):
            if word[0] in ("SOURCES", "HEADERS", "USES", "LINKS"):
                keyword = word[0]
            elif keyword == "USES":
                self.uses[word[0]] = text.count("\n", 0, call.start(1) + word.start()) + 1


def project_files(root):
    """Tracked and new files, without what git ignores; all but hidden and build folders where git does not answer."""
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(git, capture_output=True, check=False)
    except OSError:
        answer = None
    if (root / ".git").exists() and answer and answer.returncode == 0:
        names = sorted(name for name in answer.stdout.decode().split("\0") if name)
        return [pathlib.PurePosixPath(name) for name in names if (root / name).is_file()]
    found = []
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        hidden = any(part.startswith(".") or part == "build" for part in relative.parts)
        if path.is_file() and not hidden:
            found.append(pathlib.PurePosixPath(relative))
    return found


def reach(layers, start):
    """The layers that `start` may include."""
    seen, todo = set(), [start]
    while todo:
        name = todo.pop()
        new = [used for used in (layers[name].uses if name in layers else ()) if used not in seen]
        seen.update(new)
        todo.extend(new)
    return seen


def find_circle(layers, start):
    """A path start -> ... -> start, or None."""
    paths = [[start]]
    seen = set()
    while paths:
        path = paths.pop(0)
        for used in layers[path[-1]].uses:
            if used == start:
                return path + [start]
            if used in layers and used not in seen:
                seen.add(used)
                paths.append(path + [used])
    return None


def check_uses(layers):
    """Circles, each told once, and used layers that do not exist."""
    told = set()
    for name, layer in sorted(layers.items()):
        for used, line in layer.uses.items():
            if used not in layers:
                yield f"{layer.path}:{line}: layer {name} uses {used}, which is no layer of src/kasimir"
        circle = find_circle(layers, name)
        if circle and told.isdisjoint(circle):
            told.update(circle)
            yield f"{layer.path}:{layer.line}: layers use each other in a circle: {' -> '.join(circle)}"


def check_includes(root, layers, sources):
    """Includes against declared uses, both ways."""
    included = {name: set() for name in layers}
    for path, name in sources:
        if not layers[name].declared:
            continue
        allowed = reach(layers, name) | {name}
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            parts = include[1].split("/")
            if parts[0] != "kasimir" or len(parts) < 3:
                yield f'{path}:{number}: includes "{include[1]}"; write "kasimir/<layer>/<file>.h"'
                continue
            included[name].add(parts[1])
            if parts[1] not in allowed:
                uses = " ".join(layers[name].uses) or "none"
                yield f"{path}:{number}: layer {name} includes {parts[1]}, which it does not use; its USES: {uses}"
    for name, layer in sorted(layers.items()):
        for used, line in layer.uses.items():
            if used in layers and used not in included[name]:
                yield f"{layer.path}:{line}: layer {name} uses {used} and includes nothing of it"


def check_primitives(root, stems, sources):
    """Names of primitives outside their folder, as a whole string or behind primitive::."""
    for path, name in sources:
        text = (root / path).read_text()
        if name == "primitive" or FILE_EXEMPT.search(text):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if LINE_EXEMPT.search(line) or INCLUDE.match(line):
                continue
            words = (m[2] if name in OTHER_WORDS else m[1] or m[2] for m in NAMING.finditer(line))
            for word in dict.fromkeys(words):
                if word in stems:
                    yield (
                        f"{path}:{number}: names the primitive {word}; only src/kasimir/primitive and tests may "
                        "(another meaning of the word? end the line with `// names a primitive: WHY`)"
                    )


def check_listed(layers, sources):
    """Files of a layer that its CMakeLists.txt does not list."""
    for path, name in sources:
        listed = str(path.relative_to(f"src/kasimir/{name}")) in layers[name].listed
        if layers[name].declared and not listed:
            yield f"{path}:1: not listed in {layers[name].path}"


def check_length(root, files):
    """Files that have grown too long."""
    for path in files:
        if path.suffix in MEASURED:
            lines = len((root / path).read_text(errors="replace").splitlines())
            if lines > MOST_LINES:
                yield f"{path}:{MOST_LINES + 1}: {lines} lines; a file has at most {MOST_LINES}"


def check_types(root, sources):
    """Types at file scope that two headers define in the same namespace."""
    defined = {}
    for path, _ in sources:
        if path.suffix != ".h":
            continue
        namespace = ""
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            if entered := NAMESPACE.match(line):
                namespace = entered[1]
            kind = TYPE.match(line)
            if not kind:
                continue
            name = f"{namespace}::{kind[1]}"
            if name in defined and defined[name][0] != path:
                other = "{}:{}".format(*defined[name])
                yield f"{path}:{number}: {name} is defined in {other} too; one of them needs another name"
            defined.setdefault(name, (path, number))


def findings(root):
    """All findings, sorted by rule, then by file."""
    files = project_files(root)
    folders = {p.parts[2] for p in files if p.parts[:2] == ("src", "kasimir") and len(p.parts) > 3}
    layers = {}
    for name in folders:
        path = pathlib.PurePosixPath("src/kasimir", name, "CMakeLists.txt")
        text = (root / path).read_text() if (root / path).is_file() else ""
        layers[name] = Layer(name, path, text)
        if not layers[name].declared:
            yield f"{path}:1: no kasimir_layer({name} ...)"
    sources = [
        (p, p.parts[2])
        for p in files
        if p.suffix in SOURCES and p.parts[:2] == ("src", "kasimir") and len(p.parts) > 3
    ]
    stems = set(layers["primitive"].variables.get("primitives", [])) if "primitive" in layers else set()
    yield from check_uses(layers)
    yield from check_includes(root, layers, sources)
    yield from check_listed(layers, sources)
    yield from check_primitives(root, stems, sources)
    yield from check_length(root, files)
    yield from check_types(root, sources)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    if not (root / "src" / "kasimir").is_dir():
        sys.exit(f"check_layers: no folder src/kasimir in {root}")
    found = list(findings(root))
    for line in found:
        print(line)
    print(f"check_layers: {len(found)} finding{'s' * (len(found) > 1)}" if found else "check_layers: nothing found")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
