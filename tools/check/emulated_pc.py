"""A PC whose processor has AVX-512, emulated by Bochs: boots Linux from memory, runs programs of the build, and returns what they print.

The disk is a CD with a kernel of Debian and the programs. Bochs interprets every instruction: hundreds of times slower than the machine.
"""
import os
import pathlib
import re
import shutil
import subprocess

from workshop import Failure

# Linux refuses the size of the compact form of XSAVE that Bochs reports, and would then run without AVX. So it must not use that form.
KERNEL_OPTIONS = "console=ttyS0 quiet loglevel=0 mitigations=off tsc=reliable clearcpuid=xsavec,xsaves"
MENU = f"default linux\nprompt 0\nlabel linux\n kernel /kernel\n append initrd=/files {KERNEL_OPTIONS}\n"
ISOLINUX = ("/usr/lib/ISOLINUX/isolinux.bin", "/usr/lib/syslinux/modules/bios/ldlinux.c32")

# A fatal panic is how Bochs ends when the emulated PC is switched off.
MACHINE = """cpu: model=corei7_skylake_x
memory: guest=1024, host=1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path={folder}/cd.iso, status=inserted
boot: cdrom
display_library: term
com1: enabled=1, mode=file, dev={folder}/serial.txt
log: {folder}/bochs.log
panic: action=fatal
error: action=ignore
info: action=ignore
"""

BEGIN, END = "== begin", "== exit code "
START = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
exec >/dev/ttyS0 2>&1
echo '{begin}'
{command}
echo "{end}$?"
sleep 1 # until the last bytes left the serial port
poweroff -f
"""


def kernel(folder):
    """Returns the file of Debian's newest kernel for virtual machines. It is unpacked, not installed."""
    found = sorted(folder.glob("boot/vmlinuz-*"))
    if not found:
        folder.mkdir(parents=True, exist_ok=True)
        names = run(["apt-cache", "depends", "linux-image-cloud-amd64"], folder)
        package = re.search(r"Depends: (linux-image-\S+)", names)
        if not package:
            raise Failure("not proved here: apt-cache knows no linux-image-cloud-amd64")
        run(["apt-get", "download", "-q", package[1]], folder)
        run(["dpkg", "--extract", *folder.glob("*.deb"), folder], folder)
        found = sorted(folder.glob("boot/vmlinuz-*"))
    return found[-1]


def run(command, folder, text=None):
    done = subprocess.run([str(word) for word in command], cwd=folder, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"{command[0]} exited with {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def libraries_of(program):
    """Returns the files that the dynamic linker would load, by their names."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout  # it fails for static programs
    return {pathlib.Path(path).name: path for path in re.findall(r"(/\S+) \(0x", lines)}


def pack_files(folder, programs, command):
    """Makes the archive that Linux unpacks as its root."""
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "lib", "lib64", "proc", "sys", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    for program in [shutil.which("busybox"), *programs]:
        shutil.copy(program, root / "bin")
        for name, path in libraries_of(program).items():
            shutil.copy(path, root / ("lib64" if name.startswith("ld-") else "lib") / name)
    (root / "init").write_text(START.format(begin=BEGIN, end=END, command=f"export LD_LIBRARY_PATH=/lib\n{command}"))
    (root / "init").chmod(0o755)
    files = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    run(["cpio", "--create", "--format=newc", "--quiet", f"--file={folder / 'cd/files'}"], root, files)


def boot(folder, programs, command, seconds):
    """Runs a command of busybox's shell on the emulated PC, which has these programs in its path. Returns its output and exit code."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "cd").mkdir(parents=True)
    shutil.copy(kernel(folder.parent / "kernel"), folder / "cd/kernel")
    for path in ISOLINUX:
        shutil.copy(path, folder / "cd")
    (folder / "cd/isolinux.cfg").write_text(MENU)
    pack_files(folder, programs, command)
    run(["xorriso", "-as", "mkisofs", "-quiet", "-o", "cd.iso", "-b", "isolinux.bin", "-c", "catalog", "-no-emul-boot", "-boot-load-size", "4",
         "-boot-info-table", "cd"], folder)
    (folder / "machine").write_text(MACHINE.format(folder=folder))
    (folder / "commands").write_text("continue\n")  # Bochs starts in its debugger
    # Its display wants a terminal, which script gives it.
    bochs = f"timeout --kill-after=5 {seconds} bochs -q -f machine -rc commands"
    with (folder / "screen.txt").open("w") as screen:
        subprocess.run(["script", "--quiet", "--return", "--command", bochs, "/dev/null"], cwd=folder, env={**os.environ, "TERM": "vt100"},
                       stdin=subprocess.DEVNULL, stdout=screen, stderr=subprocess.STDOUT, check=False)
    serial = folder / "serial.txt"
    text = serial.read_text(errors="replace").replace("\r", "") if serial.exists() else ""
    _, _, output = text.partition(BEGIN + "\n")
    output, _, code = output.partition(END)
    if not code:
        raise Failure(f"the emulated PC did not finish in {seconds} s; {folder} has its serial.txt, screen.txt and bochs.log. It printed: {text[-400:]}")
    return output, int(code.split()[0])
