/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are references: a text, or what a sequence or an optional holds. A reference is 8 bytes that name something which never changes and lives at least as
 * long as the tensor: for a constant as long as its module, for a value of a run until the executor's next run. So what moves elements (Gather, Concat, a Loop that
 * carries a sequence) copies references as it copies numbers. Zeroed memory holds empty texts. */
#ifndef NPUC_TENSOR_REFERENCE_H
#define NPUC_TENSOR_REFERENCE_H

#include "tensor/tensor.h"

typedef struct text_span {
  const char *bytes; /* UTF-8, or any bytes. Behind an element's text stands a byte 0 that is not counted */
  size_t n;
} text_span;

/* Bytes that a text needs where it lies (SIZE_MAX: more than can be), and the making of it there, in zeroed memory that is aligned to 8 bytes. */
size_t npuc_text_bytes(size_t n);
const void *npuc_text_place(void *memory, text_span text);
/* The same for a text that is to be filled: where its n bytes go. */
char *npuc_text_begin(void *memory, size_t n);
text_span npuc_text_of(const void *reference);

const void *npuc_reference_get(const tensor *t, int64_t index);
void npuc_reference_set(tensor *t, int64_t index, const void *reference);

static inline text_span npuc_tensor_text(const tensor *t, int64_t index) { return npuc_text_of(npuc_reference_get(t, index)); }
/* What element `index` of a sequence or an optional is; never NULL in one that a run made. */
static inline const tensor *npuc_tensor_item(const tensor *t, int64_t index) { return (const tensor *)npuc_reference_get(t, index); }

/* By bytes, a shorter one in front of a longer one that begins with it. */
int npuc_text_compare(text_span a, text_span b);
/* Whether the elements mean the same. */
bool npuc_references_equal(const tensor *a, const tensor *b);
/* In the arena: a copy of the tensor's references and, unless it is a list, of what they name. */
void *npuc_references_copy(arena *a, const tensor *t);

#endif
