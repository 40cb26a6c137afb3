/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/scratch.h"

typedef struct fixture {
  arena *memory;
  diag *d;
  char *dir;
} fixture;

static int set_up(void **state) {
  fixture *f = npuc_xcalloc(1, sizeof *f);
  f->memory = npuc_arena_create();
  f->d = npuc_diag_create(NULL, NULL);
  f->dir = npuc_scratch_create(f->memory);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  npuc_scratch_remove(f->dir);
  npuc_diag_destroy(f->d);
  npuc_arena_destroy(f->memory);
  free(f);
  return 0;
}

static void assert_content(fixture *f, const char *path, const char *content, size_t n) {
  mapped_file *file;
  assert_int_equal(npuc_file_map(f->d, path, &file), NPUC_OK);
  assert_int_equal(npuc_file_size(file), n);
  if (n) assert_memory_equal(npuc_file_bytes(file), content, n);
  npuc_file_release(file);
}

static size_t count_files(fixture *f) {
  char **names;
  size_t n;
  assert_int_equal(npuc_dir_list(f->d, f->memory, f->dir, &names, &n), NPUC_OK);
  return n;
}

static void commit_gives_the_name_at_the_end(void **state) {
  fixture *f = *state;
  char *path = npuc_path_join(f->memory, f->dir, "a.bin");
  file_writer *w;
  assert_int_equal(npuc_writer_create(f->d, path, &w), NPUC_OK);
  assert_int_equal(npuc_writer_write(w, "abc", 3), NPUC_OK);
  assert_int_equal(npuc_writer_printf(w, "%d:%s", 7, "x"), NPUC_OK);
  assert_false(npuc_path_exists(path));
  assert_int_equal(npuc_writer_offset(w), 6);
  assert_int_equal(npuc_writer_commit(w), NPUC_OK);
  assert_content(f, path, "abc7:x", 6);
  assert_int_equal(count_files(f), 1);
}

static void large_writes_arrive_whole(void **state) {
  fixture *f = *state;
  char *path = npuc_path_join(f->memory, f->dir, "a.bin");
  size_t n = 1000003;
  char *bytes = npuc_xmalloc(n);
  for (size_t i = 0; i < n; i++) bytes[i] = (char)(i * 131 >> 3);
  file_writer *w;
  assert_int_equal(npuc_writer_create(f->d, path, &w), NPUC_OK);
  for (size_t at = 0, step = 1; at < n; at += step, step = step * 3 % 200001 + 1) {
    if (step > n - at) step = n - at;
    assert_int_equal(npuc_writer_write(w, bytes + at, step), NPUC_OK);
  }
  assert_int_equal(npuc_writer_offset(w), n);
  assert_int_equal(npuc_writer_commit(w), NPUC_OK);
  assert_content(f, path, bytes, n);
  memset(bytes, 'y', 2000);
  bytes[2000] = '\0';
  assert_int_equal(npuc_writer_create(f->d, path, &w), NPUC_OK);
  assert_int_equal(npuc_writer_printf(w, "%s", bytes), NPUC_OK); /* longer than the formatter's own room */
  assert_int_equal(npuc_writer_commit(w), NPUC_OK);
  assert_content(f, path, bytes, 2000);
  free(bytes);
}

static void abandon_leaves_the_old_file(void **state) {
  fixture *f = *state;
  char *path = npuc_path_join(f->memory, f->dir, "a.bin");
  assert_int_equal(npuc_file_write_all(f->d, path, "old", 3), NPUC_OK);
  file_writer *w;
  assert_int_equal(npuc_writer_create(f->d, path, &w), NPUC_OK);
  assert_int_equal(npuc_writer_write(w, "new", 3), NPUC_OK);
  npuc_writer_abandon(w);
  assert_content(f, path, "old", 3);
  assert_int_equal(count_files(f), 1);
}

/* A full disk, as the kernel reports it through a limit on the size of files. */
static void a_full_disk_is_sticky_and_leaves_the_old_file(void **state) {
  fixture *f = *state;
  char *path = npuc_path_join(f->memory, f->dir, "a.bin");
  assert_int_equal(npuc_file_write_all(f->d, path, "old", 3), NPUC_OK);
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit tight = {100000, before.rlim_max};
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  static char block[60000];
  file_writer *w;
  assert_int_equal(npuc_writer_create(f->d, path, &w), NPUC_OK);
  npuc_status status = NPUC_OK;
  int writes = 0;
  while (status == NPUC_OK && writes < 100) {
    status = npuc_writer_write(w, block, sizeof block);
    writes++;
  }
  npuc_status again = npuc_writer_write(w, "x", 1);
  npuc_status committed = npuc_writer_commit(w);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)signal(SIGXFSZ, handler);
  assert_int_equal(status, NPUC_ENVIRONMENT);
  assert_int_equal(again, NPUC_ENVIRONMENT);
  assert_int_equal(committed, NPUC_ENVIRONMENT);
  assert_int_equal(npuc_diag_count(f->d), 1); /* said once */
  assert_int_equal(npuc_diag_at(f->d, 0)->code, NPUC_DIAG_E0004);
  assert_string_equal(npuc_diag_at(f->d, 0)->place.file, path);
  assert_content(f, path, "old", 3);
  assert_int_equal(count_files(f), 1);
}

static void failures_have_their_codes(void **state) {
  fixture *f = *state;
  mapped_file *file;
  file_writer *w;
  char *missing = npuc_path_join(f->memory, f->dir, "missing/a");
  assert_int_equal(npuc_file_map(f->d, missing, &file), NPUC_BAD_INPUT);
  assert_null(file);
  assert_int_equal(npuc_diag_at(f->d, 0)->code, NPUC_DIAG_E0008);
  assert_int_equal(npuc_file_map(f->d, f->dir, &file), NPUC_BAD_INPUT);
  assert_non_null(strstr(npuc_diag_at(f->d, 1)->reason, "folder"));
  assert_int_equal(npuc_writer_create(f->d, missing, &w), NPUC_ENVIRONMENT);
  assert_int_equal(npuc_diag_at(f->d, 2)->code, NPUC_DIAG_E0004);
  assert_int_equal(npuc_writer_create(f->d, f->dir, &w), NPUC_ENVIRONMENT);
  char *fifo = npuc_path_join(f->memory, f->dir, "fifo");
  assert_int_equal(mkfifo(fifo, 0600), 0);
  assert_int_equal(npuc_file_map(f->d, fifo, &file), NPUC_BAD_INPUT); /* and does not wait for a writer */
}

static void an_empty_file_is_an_empty_span(void **state) {
  fixture *f = *state;
  char *path = npuc_path_join(f->memory, f->dir, "empty");
  assert_int_equal(npuc_file_write_all(f->d, path, NULL, 0), NPUC_OK);
  mapped_file *file;
  assert_int_equal(npuc_file_map(f->d, path, &file), NPUC_OK);
  assert_null(npuc_file_bytes(file));
  assert_int_equal(npuc_file_size(file), 0);
  assert_string_equal(npuc_file_path(file), path);
  npuc_file_drop(file, 0, 10);
  mapped_file *second = npuc_file_retain(file);
  npuc_file_release(file);
  assert_int_equal(npuc_file_size(second), 0);
  npuc_file_release(second);
}

static void dropped_pages_are_read_again(void **state) {
  fixture *f = *state;
  char *path = npuc_path_join(f->memory, f->dir, "a");
  static char block[50001];
  memset(block, 'q', sizeof block);
  assert_int_equal(npuc_file_write_all(f->d, path, block, sizeof block), NPUC_OK);
  mapped_file *file;
  assert_int_equal(npuc_file_map(f->d, path, &file), NPUC_OK);
  npuc_file_drop(file, 0, SIZE_MAX);
  npuc_file_drop(file, 100, 200);
  npuc_file_drop(file, SIZE_MAX, 1);
  assert_memory_equal(npuc_file_bytes(file), block, sizeof block);
  npuc_file_release(file);
}

static void a_device_is_written_straight(void **state) {
  fixture *f = *state;
  assert_int_equal(npuc_file_write_all(f->d, "/dev/null", "abc", 3), NPUC_OK);
  struct stat info;
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
}

static void folders_list_sorted_and_go_without_following_links(void **state) {
  fixture *f = *state;
  char *tree = npuc_path_join(f->memory, f->dir, "tree");
  char *inner = npuc_path_join(f->memory, tree, "inner");
  char *outside = npuc_path_join(f->memory, f->dir, "outside");
  assert_int_equal(npuc_dir_create(f->d, tree), NPUC_OK);
  assert_int_equal(npuc_dir_create(f->d, tree), NPUC_OK);
  assert_int_equal(npuc_dir_create(f->d, inner), NPUC_OK);
  assert_int_equal(npuc_dir_create(f->d, outside), NPUC_OK);
  char *kept = npuc_path_join(f->memory, outside, "kept");
  assert_int_equal(npuc_file_write_all(f->d, kept, "k", 1), NPUC_OK);
  assert_int_equal(npuc_file_write_all(f->d, npuc_path_join(f->memory, inner, "b"), "b", 1), NPUC_OK);
  assert_int_equal(npuc_file_write_all(f->d, npuc_path_join(f->memory, tree, "a"), "a", 1), NPUC_OK);
  assert_int_equal(npuc_file_write_all(f->d, npuc_path_join(f->memory, tree, "Z"), "z", 1), NPUC_OK);
  assert_int_equal(symlink(outside, npuc_path_join(f->memory, tree, "link")), 0);
  char **names;
  size_t n;
  assert_int_equal(npuc_dir_list(f->d, f->memory, tree, &names, &n), NPUC_OK);
  assert_int_equal(n, 4);
  assert_string_equal(names[0], "Z");
  assert_string_equal(names[1], "a");
  assert_string_equal(names[2], "inner");
  assert_string_equal(names[3], "link");
  assert_int_equal(npuc_path_remove(f->d, tree), NPUC_OK);
  assert_false(npuc_path_exists(tree));
  assert_true(npuc_path_exists(kept));
  assert_int_equal(npuc_path_remove(f->d, tree), NPUC_OK);
  assert_int_equal(npuc_dir_list(f->d, f->memory, tree, &names, &n), NPUC_BAD_INPUT);
  assert_int_equal(npuc_dir_create(f->d, kept), NPUC_ENVIRONMENT); /* a file is there */
}

static void path_arithmetic(void **state) {
  fixture *f = *state;
  assert_string_equal(npuc_path_join(f->memory, "a", "b"), "a/b");
  assert_string_equal(npuc_path_join(f->memory, "a/", "b"), "a/b");
  assert_string_equal(npuc_path_join(f->memory, "", "b"), "b");
  assert_string_equal(npuc_path_dirname(f->memory, "a/b/c"), "a/b");
  assert_string_equal(npuc_path_dirname(f->memory, "c"), ".");
  assert_string_equal(npuc_path_dirname(f->memory, "/c"), "/");
  assert_string_equal(npuc_path_basename("a/b/c"), "c");
  assert_string_equal(npuc_path_basename("c"), "c");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(commit_gives_the_name_at_the_end),
      TEST(large_writes_arrive_whole),
      TEST(abandon_leaves_the_old_file),
      TEST(a_full_disk_is_sticky_and_leaves_the_old_file),
      TEST(failures_have_their_codes),
      TEST(an_empty_file_is_an_empty_span),
      TEST(dropped_pages_are_read_again),
      TEST(a_device_is_written_straight),
      TEST(folders_list_sorted_and_go_without_following_links),
      TEST(path_arithmetic),
  };
  return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
