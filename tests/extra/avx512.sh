#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernel tests at the level avx512 on a machine that need not have it: Bochs emulates an Ice Lake, boots Debian's kernel with the tests as its
# initial file system, and their words come through the serial line. Takes minutes. A processor that has AVX-512 runs them in the unit tests.
for tool in bochs xorriso cpio dpkg-deb apt-get; do
  if ! command -v $tool > /dev/null; then
    echo "skipped: $tool is not there: apt-get install bochs bochs-term isolinux syslinux-common xorriso cpio"
    exit 77
  fi
done
loader=/usr/lib/ISOLINUX/isolinux.bin
if [ ! -e $loader ]; then
  echo "skipped: $loader is not there: apt-get install isolinux syslinux-common"
  exit 77
fi
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"

# Debian's smallest kernel image, unpacked, not installed; kept between runs.
keep=$NPUC_BINARY_DIR/emulated
mkdir -p "$keep"
if [ ! -e "$keep/vmlinuz" ]; then
  package=$(apt-cache depends linux-image-cloud-amd64 2> /dev/null | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -1)
  if [ -z "$package" ] || ! (cd "$keep" && apt-get -q download "$package" > download.log 2>&1); then
    echo "skipped: Debian's linux-image-cloud-amd64 cannot be downloaded"
    exit 77
  fi
  dpkg-deb --fsys-tarfile "$keep"/linux-image-*.deb | tar -x -O --wildcards './boot/vmlinuz-*' > "$keep/vmlinuz.new" && mv "$keep/vmlinuz.new" "$keep/vmlinuz"
  rm -f "$keep"/linux-image-*.deb
fi

mkdir -p root/dev iso/isolinux
${CC:-cc} -O2 -static "$NPUC_SOURCE_DIR/tests/emulated/init.c" -o root/init || fail "init does not compile"
for test in kernels_quads kernels_conv kernels_math_f32 base_cpu; do
  program=$NPUC_BINARY_DIR/tests/test_$test
  strip -o "root/$test" "$program"
  echo "/$test" >> root/list
  for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    mkdir -p "root$(dirname "$library")"
    cp -L "$library" "root$library"
  done
done
mknod root/dev/console c 5 1 2> /dev/null || { echo "skipped: needs root to make a console device"; exit 77; }
(cd root && find . | cpio -o -H newc --quiet | gzip -1) > iso/initrd.gz
cp "$keep/vmlinuz" iso/vmlinuz
cp $loader /usr/lib/syslinux/modules/bios/ldlinux.c32 iso/isolinux/
# Bochs 2.7 misreports the sizes of PKRU and of the compacted state: Linux would turn all of AVX off.
cat > iso/isolinux/isolinux.cfg << 'END'
DEFAULT test
TIMEOUT 1
LABEL test
 KERNEL /vmlinuz
 APPEND initrd=/initrd.gz console=ttyS0,115200 quiet panic=-1 mitigations=off nokaslr tsc=reliable lpj=1000000 random.trust_cpu=on clearcpuid=xsaves,xsavec,pku,ospke nopku
END
xorriso -as mkisofs -quiet -o disc.iso -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table iso
cat > bochsrc << 'END'
display_library: term
config_interface: textconfig
cpu: model=corei7_icelake_u, count=1, ips=50000000, reset_on_triple_fault=0
memory: guest=512, host=512
romimage: file=$BXSHARE/BIOS-bochs-latest
vgaromimage: file=$BXSHARE/VGABIOS-lgpl-latest
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial.txt
log: bochs.log
clock: sync=none
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
END
echo c > go # Debian's Bochs has the debugger, which waits
TERM=xterm timeout 1200 script -qec "bochs -q -f bochsrc -rc go" /dev/null > screen.txt 2>&1 < /dev/null
tr -d '\r' < serial.txt > said.txt
for test in kernels_quads kernels_conv kernels_math_f32 base_cpu; do says said.txt "ended /$test 0"; done
for level in scalar avx2 avx512; do says said.txt "level $level"; done
grep -q "level amx" said.txt && fail "Bochs has no AMX, and the tests ran it"
finish
