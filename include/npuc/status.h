/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes of every npuc call; equal to the exit statuses of the `npuc` program. */
#ifndef NPUC_STATUS_H
#define NPUC_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NPUC_MUST_USE __attribute__((warn_unused_result))
#define NPUC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define NPUC_API __attribute__((visibility("default")))
#else
#define NPUC_MUST_USE
#define NPUC_PRINTF(fmt, args)
#define NPUC_API
#endif

typedef enum npuc_status {
  NPUC_OK = 0,
  /* A bug of ours: an invariant that no input can break was broken. Report it. */
  NPUC_INTERNAL = 1,
  /* The caller asked in a way that has no meaning: unknown option, contradicting options, wrong argument. */
  NPUC_USAGE = 2,
  /* The input is valid, and npuc does not do it: an operator, a dtype, a target's limit. */
  NPUC_UNSUPPORTED = 3,
  /* A comparison or a bound that was asked for does not hold. The inputs and the program are fine; the result is not. */
  NPUC_GATE_FAILED = 4,
  /* The machine said no: memory, disk, permission, a missing tool, an interrupt. */
  NPUC_ENVIRONMENT = 5,
  /* A file's content is wrong: truncated, contradicting itself, out of its format's bounds. */
  NPUC_BAD_INPUT = 6
} npuc_status;

#ifdef __cplusplus
}
#endif
#endif
