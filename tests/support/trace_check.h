/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's trace event format as a viewer reads it. */
#ifndef NPUC_TESTS_SUPPORT_TRACE_CHECK_H
#define NPUC_TESTS_SUPPORT_TRACE_CHECK_H

#include <jansson.h>

/* Fails the test unless the text is a trace: phases M, X, C with their members, and spans of a track lie in one another or apart. Returns the document; decref. */
json_t *npuc_test_trace(const char *text);
/* Why spans of a list [{ts, dur}] cannot stand on one track, or NULL. */
const char *npuc_test_overlap(const json_t *spans);
/* Spans of a track, borrowed entries in a new array. */
json_t *npuc_test_spans(const json_t *document, int track);

#endif
