/* SPDX-License-Identifier: Apache-2.0 */
/* Which passes run in which order, and why there. */
#include "passes/pipelines.h"

#include <string.h>

static const pass_info table[] = {
#define PASS(symbol, name_text, summary_text, requires_set, breaks_set, parity_value) \
  {.name = (name_text),                                                               \
   .summary = (summary_text),                                                         \
   .requires = (requires_set),                                                        \
   .breaks = (breaks_set),                                                            \
   .parity = (parity_value),                                                          \
   .run = npuc_pass_##symbol},
#include "passes/passes.def"
#undef PASS
};

static const pipeline_step normalize[] = {
    {"sanitize-names", "first: what passes make is named after what it replaces"},
    {"infer-shapes", "every later pass asks for shapes"},
    {"cleanup", "Identity, Dropout and folded constants must not stand between a convolution and its batch normalization"},
    {"fold-batchnorm", "before fold-scale: what stands alone becomes a multiplication and an addition, which fold-scale may still place"},
    {"form-gemm", "before fold-scale: a bias after a matrix product becomes part of a Gemm, whose columns can be scaled"},
    {"fold-scale", "after the two that make its patterns"},
    {"absorb-padding", "after batch normalization moved out from between Pad and Conv"},
    {"cleanup", "drops what the passes before left over, and merges the constants that they made"},
};

static const pipeline_step fix_shapes[] = {
    {"static-decoder", "before bind-dims: it looks at the model at several lengths of its cache"},
    {"bind-dims", "the numbers that all else follows from"},
    {"infer-shapes", "numbers flow through the graph; auto_pad becomes pads"},
    {"cleanup", "nodes that compute shapes are constants now"},
    {"absorb-padding", "pads that were computed are constants now"},
    {"cleanup", "Reshape targets and Flattens that waited for numbers"},
    {"kv-form", "numbers only: a write is spelled with the sizes of the cache"},
    {"cleanup", "what the layers' writes have in common becomes one"},
};

static const pipeline_step adapt[] = {
    {"infer-shapes", "a stage file may have been edited by hand"},
    {"unroll-loops", "before legalize: no target has loops, and what a turn does may run on the NPU"},
    {"cleanup", "numbers of turns and slices are constants now"},
    {"legalize", "one form for each function"},
    {"fold-scale", "divisions and subtractions are multiplications and additions now"},
    {"cleanup", "reshapes that meet, transposed weights, dead code"},
    {"legalize", "Gemms and MatMuls that the folding made"},
    {"form-depthwise", "after every chance to fold: what is left of batch normalization and of input scaling"},
    {"cleanup", "what the passes before left over"},
    {"partition", "last: on the graph as it stays"},
};

static const struct {
  const char *name;
  const pipeline_step *steps;
  size_t count;
} pipelines[] = {
    {"normalize", normalize, sizeof normalize / sizeof normalize[0]},
    {"static", fix_shapes, sizeof fix_shapes / sizeof fix_shapes[0]},
    {"adapt", adapt, sizeof adapt / sizeof adapt[0]},
};

const pass_info *npuc_pass_table(size_t *out_count) {
  *out_count = sizeof table / sizeof table[0];
  return table;
}

const pass_info *npuc_pass_find(const char *name) {
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    if (strcmp(table[i].name, name) == 0) return &table[i];
  }
  return NULL;
}

const pipeline_step *npuc_pipeline(const char *name, size_t *out_count) {
  for (size_t i = 0; i < sizeof pipelines / sizeof pipelines[0]; i++) {
    if (strcmp(pipelines[i].name, name) == 0) {
      *out_count = pipelines[i].count;
      return pipelines[i].steps;
    }
  }
  return NULL;
}

const pass_patterns *npuc_pass_patterns(size_t *out_count) {
  static const pass_patterns sets[] = {
      {"cleanup", &npuc_cleanup_patterns},
      {"fold-batchnorm", &npuc_batchnorm_patterns},
      {"form-gemm", &npuc_gemm_patterns},
      {"fold-scale", &npuc_scale_patterns},
      {"absorb-padding", &npuc_padding_patterns},
      {"legalize", &npuc_activation_patterns},
      {"legalize", &npuc_matrix_patterns},
      {"legalize", &npuc_window_patterns},
      {"form-depthwise", &npuc_depthwise_pair_patterns},
      {"form-depthwise", &npuc_depthwise_single_patterns},
  };
  *out_count = sizeof sets / sizeof sets[0];
  return sets;
}

const pattern *npuc_pattern_find(const char *name) {
  size_t n;
  const pass_patterns *sets = npuc_pass_patterns(&n);
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < sets[i].set->count; k++) {
      if (strcmp(sets[i].set->patterns[k]->name, name) == 0) return sets[i].set->patterns[k];
    }
  }
  return NULL;
}
