#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 64-bit ARM: cross-compiled, run under qemu-user. The kernel tests pass at every level with and without SDOT, and the demo network gives
# the same .npu and the same outputs, byte for byte, as on this machine.
if ! command -v aarch64-linux-gnu-gcc > /dev/null || ! command -v qemu-aarch64 > /dev/null; then
  echo "skipped: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
  exit 77
fi
build=$NPUC_BINARY_DIR/aarch64
export NPUC_AARCH64_SYSROOT="$build-sysroot"
if ! "$NPUC_SOURCE_DIR/scripts/aarch64-sysroot" "$NPUC_AARCH64_SYSROOT"; then
  echo "skipped: Debian's arm64 packages of the libraries cannot be downloaded"
  exit 77
fi
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
small=cortex-a53 # no SDOT
large=neoverse-n1
on() { # CPU PROGRAM [ARGUMENTS]
  cpu=$1; shift
  qemu-aarch64 -cpu "$cpu" -L /usr/aarch64-linux-gnu "$@"
}

status 0 cmake -S "$NPUC_SOURCE_DIR" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_TOOLCHAIN_FILE="$NPUC_SOURCE_DIR/cmake/toolchain-aarch64.cmake"
status 0 cmake --build "$build" --target npuc test_base_cpu test_kernels_quads test_kernels_conv test_kernels_math_f32
for test in base_cpu kernels_quads kernels_conv kernels_math_f32; do
  status 0 on $large "$build/tests/test_$test"
done
status 0 on $small "$build/tests/test_kernels_conv"
# The scalar elementwise loops, which serve here, are vectors of NEON.
for op in sigmoid tanh affine hardswish softmax; do
  aarch64-linux-gnu-objdump -d --disassemble=npuc_f32_${op}__scalar "$build/npuc" | grep -q 'fml[as].*v[0-9]*\.4s' || fail "$op is no vector code"
done
status 0 on $large "$build/npuc" --version
says out.txt "kernels dotprod"
status 0 on $small "$build/npuc" --version
says out.txt "kernels neon"
# negative control: a level that the processor lacks is refused
status 2 env NPUC_CPU=dotprod qemu-aarch64 -cpu $small -L /usr/aarch64-linux-gnu "$build/npuc" run "$demo/model.onnx"

# The compiler and the runtime: bytes of this machine
status 0 compile_demo here
artifact=6-build.refnpu-n16/model.npu
status 0 on $large "$build/npuc" compile "$demo/model.onnx" -t refnpu-n16 -o there --calib "$demo/calib.npy" --preprocess "$preprocess"
same_file here/$artifact there/$artifact
status 0 "$NPUC" run here/$artifact -o outputs-here
for cpu in $small $large; do
  status 0 on $cpu "$build/npuc" run here/$artifact -o outputs-$cpu
  for file in outputs-here/*.npy; do same_file "$file" "outputs-$cpu/${file##*/}"; done
done
status 0 "$NPUC" run here/$artifact --seed 1 -o outputs-other
for file in outputs-here/*.npy; do # negative control: other inputs give other outputs
  cmp -s "$file" "outputs-other/${file##*/}" && fail "$file does not depend on its input"
done
finish
