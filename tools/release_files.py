# The files of a release that aren't compiled: archives, the changelog's section, the provenance statement and checksums. Used by tools/release.
import gzip
import hashlib
import io
import json
import re
import tarfile

STATEMENT = "provenance.intoto.json"
CHECKSUMS = "SHA256SUMS"


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_archive(output, folder, files, seconds):
    """Writes a .tar.gz with the same bytes for the same contents: sorted names, owner root, one time for all. `files` is {name: path}."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            contents = files[name].read_bytes()
            entry.size, entry.mtime, entry.mode = len(contents), seconds, 0o644
            archive.addfile(entry, io.BytesIO(contents))
    with output.open("wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write(tar.getvalue())


def changelog_section(text, version):
    """Returns the section of a version from a changelog, without its heading; ValueError if there is none or it is empty."""
    found = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not found or not found[1].strip():
        raise ValueError(f"CHANGELOG.md has no section [{version}] with text; add one for the version of CMakeLists.txt")
    return found[1].strip() + "\n"


def statement(files, version, commit, seconds, command, tools):
    """Returns an in-toto statement with SLSA provenance about files. It has no time of the run, so repeating the run gives the same bytes."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": sha256(path)}} for path in sorted(files)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://openaclnn.invalid/build/dev-release/v1",
                "externalParameters": {"command": command, "version": version},
                "internalParameters": {"SOURCE_DATE_EPOCH": seconds},
                "resolvedDependencies": [{"uri": "git+https://openaclnn.invalid/openaclnn", "digest": {"gitCommit": commit}},
                                         *({"uri": uri} for uri in tools)],
            },
            "runDetails": {"builder": {"id": "https://openaclnn.invalid/builder/local"}},
        },
    }


def write_statement(dist, *arguments):
    files = [path for path in dist.iterdir() if path.name not in (STATEMENT, CHECKSUMS)]
    (dist / STATEMENT).write_text(json.dumps(statement(files, *arguments), indent=2) + "\n", encoding="utf-8")


def write_checksums(dist):
    files = sorted(path for path in dist.iterdir() if path.name != CHECKSUMS)
    (dist / CHECKSUMS).write_text("".join(f"{sha256(path)}  {path.name}\n" for path in files), encoding="ascii")


def differences(first, second):
    """Returns error messages about files of two folders that aren't the same."""
    one, two = ({path.name: sha256(path) for path in folder.iterdir()} for folder in (first, second))
    return ([f"{name} is in {first} only" for name in sorted(one.keys() - two.keys())]
            + [f"{name} is in {second} only" for name in sorted(two.keys() - one.keys())]
            + [f"{name} differs: compare {first / name} and {second / name}" for name in sorted(one.keys() & two.keys()) if one[name] != two[name]])
