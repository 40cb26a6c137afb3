/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest user of the installed library: tests/house/install_test.sh builds it against pkg-config and find_package. */
#include <npuc/library.h>
#include <stdio.h>

int main(void) {
  printf("npuc %s\n", npuc_version());
  return 0;
}
