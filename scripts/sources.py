#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names the files of this tree, relative to its root: those that git knows or would add. In a copy
without git, such as a release's archive, it is all files but those that .gitignore names.

usage: sources.py [--self-test]      (names end in NUL)
"""

import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(*command, root=ROOT):
    """Returns what a git command prints; None where git does not know this tree. A repository around a
    copy knows nothing of it."""
    if not (root / ".git").exists() or not shutil.which("git"):
        return None
    done = subprocess.run(["git", "-C", root, *command], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def ignored_in(root):
    """Returns a test of whether .gitignore names a file or folder, by its path from the root."""
    rules = []
    path = root / ".gitignore"
    for line in path.read_text().splitlines() if path.exists() else []:
        if not line.strip() or line.startswith("#"):
            continue
        name = line.strip("/")
        if line.startswith("!") or "/" in name or "**" in name:
            sys.exit(f"scripts/sources.py does not understand '{line}' in .gitignore: teach it")
        rules.append((name, line.startswith("/"), line.endswith("/")))

    def is_ignored(path, is_folder):
        return any(fnmatch.fnmatchcase(path.name, name) and (not at_top or len(path.parts) == 1)
                   and (is_folder or not of_folders) for name, at_top, of_folders in rules)
    return is_ignored


def files_there(root):
    is_ignored, names = ignored_in(root), []
    for folder, folders, files in os.walk(root):
        here = pathlib.Path(folder).relative_to(root)
        folders[:] = [name for name in folders
                      if name != ".git" and not is_ignored(here / name, True)]
        names += [str(here / name) for name in files if not is_ignored(here / name, False)]
    return names


def files(root=ROOT):
    """Returns the names, sorted; none of a file that was removed and git still knows."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", root=root)
    names = files_there(root) if listed is None else listed.split("\0")
    return sorted(name for name in set(names) if name and (root / name).is_file())


def self_test():
    kept = [".gitignore", "src/build/a.cpp", "src/demo.png", "a file.txt", "tests/swp", "build.md",
            "docs/install/page.md"]
    left_out = ["build/release/a.o", "install/bin/a", "demo.png", "src/__pycache__/a.txt",
                "scripts/a.pyc", ".venv/a.py", "src/.a.cpp.swp", "CMakeUserPresets.json"]
    with tempfile.TemporaryDirectory() as folder:
        around = pathlib.Path(folder)
        root = around / "halocline"
        for name in kept + left_out:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        shutil.copy(ROOT / ".gitignore", root)
        assert git("status", root=root) is None
        assert files(root) == sorted(kept), f"without git: {files(root)}"
        if shutil.which("git"):
            subprocess.run(["git", "init", "--quiet", around], check=True)
            assert git("status", root=root) is None, "a repository around is not this tree's"
            assert files(root) == sorted(kept), f"in a repository: {files(root)}"
            subprocess.run(["git", "init", "--quiet", root], check=True)
            assert git("status", root=root) is not None
            assert files(root) == sorted(kept), f"with git: {files(root)}"
    print("the self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        sys.stdout.write("".join(name + "\0" for name in files()))


if __name__ == "__main__":
    main()
