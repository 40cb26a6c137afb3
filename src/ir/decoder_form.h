/* SPDX-License-Identifier: Apache-2.0 */
/* The one static decoder form (docs/static-decoder.md) as a module's metadata says it:
 *
 *   npuc.decoder.max_length = N     tokens that a sequence may have
 *   npuc.decoder.chunk = C          tokens a call
 *   npuc.state.K = "OUTPUT > INPUT" a state: OUTPUT of one call is INPUT of the next
 *
 * The inputs `position` and `valid` say where a chunk begins and how many of its tokens are real. */
#ifndef NPUC_IR_DECODER_FORM_H
#define NPUC_IR_DECODER_FORM_H

#include "ir/graph.h"

typedef struct decoder_form {
  int64_t max_length, chunk;
  int32_t position, valid; /* indices of the main graph's inputs */
} decoder_form;

/* False where the module is no static decoder. */
bool npuc_decoder_form_of(const module *m, decoder_form *out_form);
void npuc_decoder_form_set(module *m, int64_t max_length, int64_t chunk);
/* Before a call: 0 <= position, 1 <= valid <= C, position + valid <= max_length; E0630. */
npuc_status npuc_decoder_form_check(diag *d, const decoder_form *f, const tensor *inputs) NPUC_MUST_USE;

/* State number `k` (from 0): the names of its output and input, in `a`; false behind the last. */
bool npuc_module_state(const module *m, arena *a, size_t k, const char **out_output, const char **out_input);
void npuc_module_set_state(module *m, size_t k, const char *output, const char *input);

#endif
