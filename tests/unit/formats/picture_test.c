/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures decode to the pixels that Pillow gives (tests/data/formats/pictures); what is cut short, damaged or of another format is refused with a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "formats/picture.h"

#define PICTURES NPUC_SOURCE_DIR "/tests/data/formats/pictures/"
enum { MOST = 16384 };

static const char *const names[] = {"rgb.png",     "smooth.png", "grey.png", "alpha.png", "palette.png", "bits.png", "rgb.bmp",
                                    "palette.bmp", "alpha.bmp",  "rgb.ppm",  "grey.pgm",  "rgb.tiff",    "grey.tiff"};
enum { COUNT = sizeof names / sizeof *names };

static size_t read_file(const char *name, const char *suffix, uint8_t *out) {
  char path[512];
  (void)snprintf(path, sizeof path, PICTURES "%s%s", name, suffix);
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s is not there", path);
  size_t n = fread(out, 1, MOST, f);
  fclose(f);
  return n;
}

static void pixels_are_those_of_pillow(void **state) {
  (void)state;
  static uint8_t bytes[MOST], wanted[MOST];
  for (int i = 0; i < COUNT; i++) {
    size_t n = read_file(names[i], "", bytes), m = read_file(names[i], ".rgb", wanted);
    picture p;
    const char *problem = NULL;
    if (!npuc_picture_decode(bytes, n, &p, &problem)) fail_msg("%s: %s", names[i], problem);
    assert_int_equal(p.height, wanted[0] | wanted[1] << 8);
    assert_int_equal(p.width, wanted[2] | wanted[3] << 8);
    assert_int_equal(p.width * p.height * 3 + 4, m);
    if (memcmp(p.rgb, wanted + 4, m - 4) != 0) fail_msg("%s has other pixels", names[i]);
    npuc_buffer_destroy(p.rgb);
  }
}

/* Copies of exactly the size, so that a sanitizer sees each byte beyond. Whatever is taken is a whole picture; PNG's checksums let no changed byte through. */
static void damage_is_refused_or_read(void **state) {
  (void)state;
  static uint8_t bytes[MOST];
  for (int i = 0; i < COUNT; i++) {
    size_t n = read_file(names[i], "", bytes);
    for (size_t cut = 0; cut < n; cut++) {
      uint8_t *copy = malloc(cut + 1);
      assert_non_null(copy);
      memcpy(copy, bytes, cut);
      picture p = {0};
      const char *problem = NULL;
      bool good = npuc_picture_decode(copy, cut, &p, &problem);
      if (!good) assert_non_null(problem);
      if (good && (i < 6 || i > 10)) fail_msg("%s was taken without its end, of %zu bytes", names[i], cut);
      npuc_buffer_destroy(p.rgb);
      free(copy);
    }
    for (size_t at = 0; at < n; at++) {
      for (int mask = 1; mask < 256; mask += 85) {
        bytes[at] ^= (uint8_t)mask;
        picture p = {0};
        const char *problem = NULL;
        bool good = npuc_picture_decode(bytes, n, &p, &problem);
        if (good && i < 6) fail_msg("%s was taken with byte %zu changed", names[i], at);
        npuc_buffer_destroy(p.rgb);
        bytes[at] ^= (uint8_t)mask;
      }
    }
  }
}

static void other_formats_are_named(void **state) {
  (void)state;
  static const struct {
    const char *bytes, *says;
    size_t n;
  } rows[] = {{"\xff\xd8\xff\xe0", "JPEG", 4},
              {"RIFF....WEBP", "WebP", 12},
              {"\0\0\0\x0cjP  \r\n", "JPEG 2000", 10},
              {"GIF89a", "no PNG", 6},
              {"", "no PNG", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    picture p;
    const char *problem = NULL;
    assert_false(npuc_picture_decode((const uint8_t *)rows[i].bytes, rows[i].n, &p, &problem));
    if (!strstr(problem, rows[i].says)) fail_msg("%s: %s", rows[i].says, problem);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pixels_are_those_of_pillow),
      cmocka_unit_test(damage_is_refused_or_read),
      cmocka_unit_test(other_formats_are_named),
  };
  return cmocka_run_group_tests_name("pictures", tests, NULL, NULL);
}
