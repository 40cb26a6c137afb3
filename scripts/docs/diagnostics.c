/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/diagnostics.md from src/base/diagnostics.def. */
#include <stdio.h>

#include "base/diag.h"

static const char *status_name(npuc_status status) {
  switch (status) {
    case NPUC_OK:
      return "good";
    case NPUC_INTERNAL:
      return "internal";
    case NPUC_USAGE:
      return "usage";
    case NPUC_UNSUPPORTED:
      return "unsupported";
    case NPUC_GATE_FAILED:
      return "gate failed";
    case NPUC_ENVIRONMENT:
      return "environment";
    case NPUC_BAD_INPUT:
      return "bad input";
  }
  return "unknown";
}

static const char *section_title(const char *text_code) {
  static const char *const titles[] = {"Base and environment",
                                       "Usage",
                                       "Formats",
                                       "Import",
                                       "IR",
                                       "Passes",
                                       "Executor",
                                       "Quantization",
                                       "NPU and targets",
                                       "Stages and gates",
                                       "Runtime and .npu",
                                       "Data and preprocessing"};
  unsigned section = (unsigned)(text_code[6] - '0') * 10 + (unsigned)(text_code[7] - '0');
  return section < sizeof titles / sizeof titles[0] ? titles[section] : "Others";
}

int main(void) {
  printf(
      "# Diagnostics\n\nWritten by `make docs` from `src/base/diagnostics.def`; `npuc explain CODE` shows one of them.\n"
      "The exit status of `npuc` is the status of the first error.\n");
  const char *title = "";
  for (int i = 0; i < (int)NPUC_DIAG_COUNT; i++) {
    const diag_info *info = npuc_diag_info((diag_code)i);
    if (title != section_title(info->text_code)) {
      title = section_title(info->text_code);
      printf("\n## %s\n", title);
    }
    printf("\n### %s %s\n\n**%c%s** (exit status %d, %s). %s\n", info->text_code, info->name,
           info->summary[0] >= 'a' && info->summary[0] <= 'z' ? info->summary[0] - 'a' + 'A' : info->summary[0], info->summary + 1,
           (int)info->status, status_name(info->status), info->explanation);
  }
  return 0;
}
