/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime: loads a `.npu` file (docs/refnpu.md section 6) and runs its integer graph. Links libc, libm and pthreads only.
 *
 *   npuc_error e;
 *   npuc_program *p;
 *   npuc_session *s;
 *   if (npuc_program_load("model.npu", &p, &e) != NPUC_OK) return complain(e.code, e.message);
 *   if (npuc_session_create(p, NULL, &s, &e) != NPUC_OK) ...
 *   const void *inputs[] = {image_u8};    // row-major, as npuc_program_input says
 *   void *outputs[] = {logits_u8};
 *   npuc_session_run(s, inputs, outputs, &e);
 *
 * A program is immutable and may be shared by any number of sessions and threads; it must outlive them. A session is used by one thread at a time.
 * npuc_session_run allocates nothing. Nothing is printed, the process never ends, no state is global. */
#ifndef NPUC_RUNTIME_H
#define NPUC_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npuc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NPUC_MAX_RANK = 8 };

/* What went wrong; every call that takes one accepts NULL. */
typedef struct npuc_error {
  npuc_status status;
  char code[16];     /* "NPUC-E1003" */
  char message[496]; /* file, section, record, reason */
} npuc_error;

/* An input or output: row-major, dense. real = scale * (q - zero_point) where quantized. Strings live as long as the program. */
typedef struct npuc_port {
  const char *name;        /* in the integer module */
  const char *source_name; /* in the source model; "" when the same */
  int32_t dtype;           /* ONNX TensorProto.DataType: 1 float32, 2 uint8, 3 int8, 6 int32, 7 int64 */
  int32_t rank;
  int64_t dims[NPUC_MAX_RANK];
  size_t bytes;
  bool quantized;
  float scale;
  int32_t zero_point;
} npuc_port;

typedef struct npuc_program npuc_program;
typedef struct npuc_session npuc_session;

/* Maps the file and verifies it (header, tables, graph, instructions, weight blocks). On failure *out_program is NULL. */
NPUC_API npuc_status npuc_program_load(const char *path, npuc_program **out_program, npuc_error *out_error) NPUC_MUST_USE;
NPUC_API void npuc_program_destroy(npuc_program *program); /* NULL is fine; no session may be left */
/* Checks every weight block, whatever the size. */
NPUC_API npuc_status npuc_program_audit(const npuc_program *program, npuc_error *out_error) NPUC_MUST_USE;

NPUC_API size_t npuc_program_inputs(const npuc_program *program);
NPUC_API size_t npuc_program_outputs(const npuc_program *program);
/* index < the count above; anything else gives NULL. */
NPUC_API const npuc_port *npuc_program_input(const npuc_program *program, size_t index);
NPUC_API const npuc_port *npuc_program_output(const npuc_program *program, size_t index);

typedef struct npuc_session_options {
  size_t configuration; /* hardware configuration of the file; 0 is the first */
} npuc_session_options;

/* Plans and takes all memory that runs will need. options may be NULL. */
NPUC_API npuc_status npuc_session_create(const npuc_program *program, const npuc_session_options *options, npuc_session **out_session,
                                         npuc_error *out_error) NPUC_MUST_USE;
NPUC_API void npuc_session_destroy(npuc_session *session);
/* Bytes of activation memory. */
NPUC_API size_t npuc_session_memory(const npuc_session *session);
/* inputs[i], outputs[i]: buffers of npuc_port.bytes; they may be at any alignment that their dtype allows. */
NPUC_API npuc_status npuc_session_run(npuc_session *session, const void *const *inputs, void *const *outputs,
                                      npuc_error *out_error) NPUC_MUST_USE;

/* The boundary (docs/numerics.md section 4): q = clamp(round_half_even(x / scale) + zero_point), and back. n elements; the port must be quantized and of 8 bits. */
NPUC_API void npuc_port_quantize(const npuc_port *port, const float *x, void *q, size_t n);
NPUC_API void npuc_port_dequantize(const npuc_port *port, const void *q, float *x, size_t n);

#ifdef __cplusplus
}
#endif
#endif
