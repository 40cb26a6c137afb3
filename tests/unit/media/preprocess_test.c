/* SPDX-License-Identifier: Apache-2.0 */
/* Preprocessing against NumPy's float32 (bit for bit) and PyTorch's bilinear interpolation: tests/data/formats/preprocess.py computes the right values. */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "media/preprocess.h"
#include "support/scratch.h"

enum { C = 3, H = 4, W = 6 };
static const shape record = {.rank = 3, .dims = {C, H, W}};

static void picture(uint8_t x[C * H * W]) {
  for (int i = 0; i < C * H * W; i++) x[i] = (uint8_t)(i * 37 % 256);
}

static void apply(const char *spec, const shape *from, const shape *wanted, const uint8_t *x, float *out) {
  arena *a = npuc_arena_create();
  preprocess *p;
  preprocess_plan plan;
  assert_int_equal(npuc_preprocess_parse(NULL, a, spec, &p), NPUC_OK);
  assert_int_equal(npuc_preprocess_plan(NULL, p, DTYPE_U8, from, wanted, &plan), NPUC_OK);
  assert_int_equal(npuc_preprocess_apply(NULL, &plan, x, out), NPUC_OK);
  npuc_arena_destroy(a);
}

static void normalization_is_numpys_bits(void **state) {
  (void)state;
  static const int at[] = {0, 1, 23, 24, 50, 71};
  static const float wanted[] = {-0x1.0f177ap+1f, -0x1.7bfa4ep+0f, -0x1.64a21ep-1f, 0x1.0ac1c2p-4f, -0x1.964c54p-1f, -0x1.45fc04p-1f};
  uint8_t x[C * H * W];
  float y[C * H * W];
  picture(x);
  apply("scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225", &record, &record, x, y);
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) assert_true(y[at[i]] == wanted[i]);
  /* Control: another order of operations, (x - 255 mean) * (1 / (255 std)), is not the same bits everywhere. */
  int different = 0;
  const float mean[] = {0.485f, 0.456f, 0.406f}, std[] = {0.229f, 0.224f, 0.225f};
  for (int i = 0; i < C * H * W; i++) {
    int c = i / (H * W);
    different += ((float)x[i] - 255 * mean[c]) * (1 / (255 * std[c])) != y[i];
  }
  assert_true(different > 0);
}

static void resize_and_crop_are_pytorchs(void **state) {
  (void)state;
  static const int at[] = {0, 1, 17, 34, 35, 70, 104};
  static const double wanted[] = {18.5, 43.1667, 52.8333, 81.5, 138.5, 130.5, 65.5};
  const shape out = {.rank = 3, .dims = {C, 5, 7}};
  uint8_t x[C * H * W];
  float y[C * 5 * 7];
  picture(x);
  apply("resize=6,crop=5x7", &record, &out, x, y);
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) assert_true(fabs((double)y[at[i]] - wanted[i]) < 1e-4);
}

static void layouts_are_turned_when_asked(void **state) {
  (void)state;
  const shape last = {.rank = 3, .dims = {H, W, C}};
  uint8_t x[C * H * W], turned[C * H * W];
  float y[C * H * W], z[C * H * W];
  picture(x);
  for (int c = 0; c < C; c++) {
    for (int i = 0; i < H * W; i++) turned[i * C + c] = x[c * H * W + i];
  }
  apply("scale=2,mean=1:2:3,layout=nhwc", &record, &last, x, y);
  for (int i = 0; i < C * H * W; i++) assert_true(y[i] == 2.0f * turned[i] - (float)(1 + i % C));
  apply("scale=2,mean=1:2:3,layout=nchw", &last, &record, turned, z);
  for (int i = 0; i < C * H * W; i++) assert_true(z[i] == 2.0f * x[i] - (float)(1 + i / (H * W)));
  /* Not asked: refused, with the fix. */
  diag *d = npuc_diag_create(NULL, NULL);
  preprocess_plan plan;
  assert_int_equal(npuc_preprocess_plan(d, NULL, DTYPE_U8, &record, &last, &plan), NPUC_USAGE);
  assert_int_equal(npuc_diag_first_error(d)->code, NPUC_DIAG_E1101);
  assert_non_null(strstr(npuc_diag_first_error(d)->reason, "3x4x6"));
  assert_non_null(strstr(npuc_diag_first_error(d)->reason, "4x6x3"));
  assert_non_null(strstr(npuc_diag_first_error(d)->fixes[0], "layout=nhwc"));
  npuc_diag_destroy(d);
}

static void a_plane_is_a_picture_of_one_channel(void **state) {
  (void)state;
  const shape plane = {.rank = 2, .dims = {2, 3}}, one = {.rank = 3, .dims = {1, 2, 3}}, flat = {.rank = 1, .dims = {6}};
  const uint8_t x[] = {1, 2, 3, 4, 5, 6};
  float y[6];
  apply("scale=0.5", &plane, &one, x, y);
  for (int i = 0; i < 6; i++) assert_true(y[i] == 0.5f * x[i]);
  apply("scale=0.5,mean=1", &plane, &flat, x, y);
  for (int i = 0; i < 6; i++) assert_true(y[i] == 0.5f * x[i] - 1);
}

static void specs_print_back(void **state) {
  (void)state;
  static const char *const specs[][2] = {
      {"", ""},
      {"scale=1/255", "scale=1/255"},
      {"std=0.5,scale=0.00392156862745098,mean=0.5", "scale=1/255,mean=0.5,std=0.5"},
      {"scale=0.3,mean=0.485:0.456:0.406", "scale=0.3,mean=0.485:0.456:0.406"},
      {"layout=nhwc,resize=256,crop=224", "resize=256,crop=224x224,layout=nhwc"},
      {"resize=10x20", "resize=10x20"},
  };
  arena *a = npuc_arena_create();
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    preprocess *p, *q;
    assert_int_equal(npuc_preprocess_parse(NULL, a, specs[i][0], &p), NPUC_OK);
    char *text = npuc_preprocess_print(a, p);
    assert_string_equal(text, specs[i][1]);
    assert_int_equal(npuc_preprocess_parse(NULL, a, text, &q), NPUC_OK);
    assert_string_equal(npuc_preprocess_print(a, q), text);
  }
  npuc_arena_destroy(a);
}

static void json_says_the_same(void **state) {
  (void)state;
  arena *a = npuc_arena_create();
  char *dir = npuc_scratch_create(a), *path = npuc_path_join(a, dir, "p.json");
  const char *good =
      "{\"scale\": \"1/255\", \"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225], \"crop\": 224, \"layout\": \"nchw\"}";
  assert_int_equal(npuc_file_write_all(NULL, path, good, strlen(good)), NPUC_OK);
  preprocess *p;
  assert_int_equal(npuc_preprocess_parse(NULL, a, path, &p), NPUC_OK);
  assert_string_equal(npuc_preprocess_print(a, p), "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,crop=224x224,layout=nchw");
  static const char *const wrong[] = {"{\"sacle\": 1}", "[1]", "{\"scale\": ", "{\"mean\": [[1]]}", ""};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(npuc_file_write_all(NULL, path, wrong[i], strlen(wrong[i])), NPUC_OK);
    assert_int_equal(npuc_preprocess_parse(NULL, a, path, &p), NPUC_USAGE);
  }
  npuc_scratch_remove(dir);
  npuc_arena_destroy(a);
}

static void wrong_specs_are_named(void **state) {
  (void)state;
  static const char *const specs[][2] = {
      {"mena=1", "mean"},
      {"scale=", "scale"},
      {"scale=1/0", "scale"},
      {"mean=1:x", "mean"},
      {"std=0", "std"},
      {"layout=abc", "layout"},
      {"scale=1,scale=2", "twice"},
      {"scale", "KEY=VALUE"},
      {"resize=-3", "resize"},
      {"crop=3y4", "crop"},
      {"scale=nan", "scale"},
      {"resize=99999999", "resize"},
      {"nothere.json", "KEY=VALUE|No such file"},
  };
  arena *a = npuc_arena_create();
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    diag *d = npuc_diag_create(NULL, NULL);
    preprocess *p;
    assert_int_not_equal(npuc_preprocess_parse(d, a, specs[i][0], &p), NPUC_OK);
    const char *reason = npuc_diag_first_error(d)->reason;
    if (!strstr(specs[i][1], reason) && !strstr(reason, specs[i][1]) && !strchr(specs[i][1], '|')) fail_msg("%s: %s", specs[i][0], reason);
    npuc_diag_destroy(d);
  }
  preprocess *p;
  preprocess_plan plan;
  assert_int_equal(npuc_preprocess_parse(NULL, a, "mean=1:2", &p), NPUC_OK);
  assert_int_equal(npuc_preprocess_plan(NULL, p, DTYPE_U8, &record, &record, &plan), NPUC_USAGE); /* three channels */
  npuc_arena_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(normalization_is_numpys_bits),
      cmocka_unit_test(resize_and_crop_are_pytorchs),
      cmocka_unit_test(layouts_are_turned_when_asked),
      cmocka_unit_test(a_plane_is_a_picture_of_one_channel),
      cmocka_unit_test(specs_print_back),
      cmocka_unit_test(json_says_the_same),
      cmocka_unit_test(wrong_specs_are_named),
  };
  return cmocka_run_group_tests_name("preprocess", tests, NULL, NULL);
}
