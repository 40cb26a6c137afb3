/* SPDX-License-Identifier: Apache-2.0 */
#include "support/quantized.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import/onnx/onnx.h"
#include "passes/pass.h"

tensor npuc_quantized_sample(const tensor *samples, int64_t index) {
  tensor one = *samples;
  one.shape.dims[0] = 1;
  one.bytes = samples->bytes / (size_t)samples->shape.dims[0];
  one.data = (char *)samples->data + (size_t)index * one.bytes;
  return one;
}

static npuc_status feed(void *user, diag *d, size_t index, tensor *inputs) {
  (void)d;
  inputs[0] = npuc_quantized_sample(user, (int64_t)index);
  return NPUC_OK;
}

static void must(const quantized *q, npuc_status status, const char *what) {
  if (status == NPUC_OK) return;
  const diag_record *record = npuc_diag_first_error(q->d);
  fail_msg("%s: %s", what, record ? record->reason : "no reason given");
}

void npuc_quantized_create(const char *path, const tensor *samples, const quant_options *options, quantized *out_quantized) {
  quantized *q = out_quantized;
  *q = (quantized){.d = npuc_diag_create(NULL, NULL), .report = npuc_quant_report_create()};
  arena *a = npuc_arena_create();
  module *m = NULL;
  pass_report passes;
  const pass_options pass = {.dims = &(dim_binding){"N", 1}, .n_dims = 1, .limit = -1};
  must(q, npuc_onnx_read(q->d, path, &m), path);
  const char *const pipelines[] = {"normalize", "static", "adapt"};
  for (size_t i = 0; i < 3; i++) must(q, npuc_passes_run(q->d, a, m, pipelines[i], &pass, &passes), pipelines[i]);
  tensor all = *samples;
  must(q,
       npuc_quantize(q->d, m, options, &(quant_samples){.count = (size_t)samples->shape.dims[0], .read = feed, .user = &all}, &q->integer,
                     &q->qdq, q->report),
       "quantize");
  must(q, npuc_quant_check_integer_only(q->d, q->integer->graphs[0]), "integers only");
  must(q, npuc_executor_create(q->d, q->integer->graphs[0], &(exec_options){0}, &q->integers), "integer graph");
  must(q, npuc_executor_create(q->d, q->qdq->graphs[0], &(exec_options){0}, &q->judge), "QDQ graph");
  npuc_module_destroy(m);
  npuc_arena_destroy(a);
}

void npuc_quantized_release(quantized *q) {
  npuc_executor_destroy(q->integers);
  npuc_executor_destroy(q->judge);
  npuc_module_destroy(q->integer);
  npuc_module_destroy(q->qdq);
  npuc_quant_report_destroy(q->report);
  npuc_diag_destroy(q->d);
}

/* The boundary, written here on its own: float32 quotient, half to even, zero point, clamp. */
static void to_integers(const tensor *floats, const value *v, tensor *out) {
  const float scale = (float)npuc_tensor_get(&v->quant->scale, 0);
  const int64_t zero = npuc_tensor_get_int(&v->quant->zero_point, 0);
  const int64_t lo = v->type == DTYPE_U8 ? 0 : -128, hi = v->type == DTYPE_U8 ? 255 : 127;
  for (int64_t i = 0; i < npuc_tensor_elements(floats); i++) {
    const float quotient = (float)npuc_tensor_get(floats, i) / scale;
    const int64_t q = (int64_t)rintf(fminf(fmaxf(quotient, -1e6f), 1e6f)) + zero;
    npuc_tensor_set_int(out, i, q < lo ? lo : q > hi ? hi : q);
  }
}

void npuc_quantized_run(quantized *q, const tensor *samples, int64_t index, float *out) {
  const graph *g = q->integer->graphs[0];
  const value *in = g->inputs[0], *result = g->outputs[0];
  const tensor one = npuc_quantized_sample(samples, index);
  tensor input, output;
  must(q, npuc_tensor_create(q->d, in->type, &one.shape, &input), "input");
  to_integers(&one, in, &input);
  must(q, npuc_executor_run(q->integers, q->d, &input, &output), "run");
  const float scale = (float)npuc_tensor_get(&result->quant->scale, 0);
  const int64_t zero = npuc_tensor_get_int(&result->quant->zero_point, 0);
  for (int64_t i = 0; i < npuc_tensor_elements(&output); i++) out[i] = (float)(npuc_tensor_get_int(&output, i) - zero) * scale;
  npuc_tensor_release(&input);
}

void npuc_quantized_judge(quantized *q, const tensor *samples, int64_t index, float *out) {
  const tensor one = npuc_quantized_sample(samples, index);
  tensor aligned, output;
  must(q, npuc_tensor_align(q->d, &one, &aligned), "input");
  must(q, npuc_executor_run(q->judge, q->d, &aligned, &output), "run of QDQ");
  memcpy(out, output.data, output.bytes);
  npuc_tensor_release(&aligned);
}
