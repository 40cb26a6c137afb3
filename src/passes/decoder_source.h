/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of a decoder whose cache grows, for those who run it at a given length. */
#ifndef NPUC_PASSES_DECODER_SOURCE_H
#define NPUC_PASSES_DECODER_SOURCE_H

#include "passes/pass.h"

typedef enum decoder_role { DECODER_OTHER, DECODER_IDS, DECODER_PAST, DECODER_MASK, DECODER_PLACES } decoder_role;

/* Whether the graph has a cache that grows: an input named past* with a symbolic axis. */
bool npuc_decoder_grows(const graph *g);
/* What an input of such a graph is, as long as its dims are symbols. */
decoder_role npuc_decoder_role(const graph *g, const value *input);
/* Tokens a call when nothing is asked: the number that the model has there, else 1. Fails as static-decoder would where its ports are not understood. */
npuc_status npuc_decoder_chunk(diag *d, const graph *g, const pass_options *options, int64_t *out_chunk, bool *out_free) NPUC_MUST_USE;
/* The main graph for `past` cached rows and `tokens` tokens: every symbol becomes a number, and shapes are inferred anew. */
npuc_status npuc_decoder_bind(diag *d, module *m, const pass_options *options, int64_t past, int64_t tokens) NPUC_MUST_USE;

#endif
