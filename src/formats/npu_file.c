/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/npu_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

const uint8_t npuc_npu_magic[8] = {0x89, 'N', 'P', 'U', 0x0d, 0x0a, 0x1a, 0x0a};

static const struct {
  const char *name;
  size_t record;
} kinds[NPU_SECTION_COUNT] = {
#define SECTION(name, bytes) {#name, bytes},
    NPU_SECTIONS(SECTION)
#undef SECTION
};

const char *npuc_npu_section_name(npu_section_kind kind) { return kinds[kind].name; }
size_t npuc_npu_section_record(npu_section_kind kind) { return kinds[kind].record; }

typedef struct file_header {
  uint8_t magic[8];
  uint32_t version, header_bytes;
  uint64_t file_bytes;
  uint32_t n_sections, table_offset, table_crc;
  uint8_t zero[24];
  uint32_t header_crc;
} file_header;

typedef struct table_entry {
  char kind[4];
  uint32_t record_bytes;
  uint64_t offset, bytes, records;
  uint32_t crc;
  uint8_t zero[12];
} table_entry;

_Static_assert(sizeof(file_header) == 64 && sizeof(table_entry) == 48, "records have no padding");
enum { MAX_SECTIONS = 64 };

static npuc_status bad(diag *d, diag_code code, const npu_file *f, const char *section, const char *reason) {
  return npuc_fail(d, code, &(diag_place){.file = npuc_file_path(f->file), .node = section}, "%s", reason);
}

static bool all_zero(const uint8_t *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (p[i]) return false;
  return true;
}

static npuc_status check_header(diag *d, const npu_file *f, const file_header *h) {
  size_t size = npuc_file_size(f->file);
  if (size < sizeof *h || memcmp(h->magic, npuc_npu_magic, 8) != 0)
    return bad(d, NPUC_DIAG_E1001, f, "header", "the file does not begin with a .npu header");
  if (npuc_crc32c(0, h, 60) != h->header_crc) return bad(d, NPUC_DIAG_E1003, f, "header", "the checksum of the header is wrong");
  if (h->version != NPU_FILE_VERSION)
    return npuc_fail(d, NPUC_DIAG_E1002, &(diag_place){.file = npuc_file_path(f->file)},
                     "the file has version %u, this npuc reads version %d", h->version, NPU_FILE_VERSION);
  if (h->header_bytes != 64 || h->table_offset != 64 || !all_zero(h->zero, sizeof h->zero))
    return bad(d, NPUC_DIAG_E1004, f, "header", "a field has not its only value");
  if (h->file_bytes != size)
    return bad(d, NPUC_DIAG_E1001, f, "header",
               h->file_bytes > size ? "the file is shorter than its header says" : "bytes follow after the end that its header states");
  if (h->n_sections < 1 || h->n_sections > MAX_SECTIONS || 64 + h->n_sections * sizeof(table_entry) > size)
    return bad(d, NPUC_DIAG_E1004, f, "header", "the section table does not fit the file");
  if (npuc_crc32c(0, (const uint8_t *)h + 64, h->n_sections * sizeof(table_entry)) != h->table_crc)
    return bad(d, NPUC_DIAG_E1003, f, "section table", "the checksum of the table is wrong");
  return NPUC_OK;
}

/* Known kind of an entry, NPU_SECTION_COUNT for one to be ignored. */
static npu_section_kind kind_of(const table_entry *e) {
  for (int k = 0; k < NPU_SECTION_COUNT; k++)
    if (memcmp(kinds[k].name, e->kind, 4) == 0) return (npu_section_kind)k;
  return NPU_SECTION_COUNT;
}

static npuc_status check_entry(diag *d, npu_file *f, const table_entry *e, uint64_t *end) {
  const uint8_t *base = npuc_file_bytes(f->file);
  uint64_t size = npuc_file_size(f->file);
  npu_section_kind kind = kind_of(e);
  char name[8] = "";
  for (int i = 0; i < 4; i++) name[i] = e->kind[i] >= 0x20 && e->kind[i] < 0x7f ? e->kind[i] : '?';
  if (e->offset < *end || e->offset > size || e->bytes > size - e->offset || e->offset % NPU_SECTION_ALIGN ||
      !all_zero(e->zero, sizeof e->zero))
    return bad(d, NPUC_DIAG_E1004, f, name, "the section overlaps, is out of order, out of the file or not aligned");
  if (!all_zero(base + *end, e->offset - *end)) return bad(d, NPUC_DIAG_E1004, f, name, "the bytes before the section are not 0");
  *end = e->offset + e->bytes;
  size_t record = kind == NPU_SECTION_COUNT ? e->record_bytes : kinds[kind].record;
  if (kind < NPU_SECTION_COUNT && f->sections[kind].data) return bad(d, NPUC_DIAG_E1004, f, name, "the section occurs twice");
  if (e->record_bytes != record || (record ? e->records > e->bytes || e->records * record != e->bytes : e->records != 0))
    return bad(d, NPUC_DIAG_E1004, f, name, "the size of its records, or their number, does not fit");
  if (kind == NPU_WGTS && (e->offset % NPU_WEIGHTS_ALIGN || e->crc))
    return bad(d, NPUC_DIAG_E1004, f, name, "weights start at a multiple of 4096 and have their checksums in WCRC");
  if (kind != NPU_WGTS && npuc_crc32c(0, base + e->offset, e->bytes) != e->crc)
    return bad(d, NPUC_DIAG_E1003, f, name, "the checksum of the section is wrong");
  if (kind < NPU_SECTION_COUNT) f->sections[kind] = (npu_section){base + e->offset, e->bytes, e->records};
  return NPUC_OK;
}

size_t npuc_npu_file_weight_blocks(const npu_file *f) { return (f->sections[NPU_WGTS].bytes + NPU_WEIGHT_BLOCK - 1) / NPU_WEIGHT_BLOCK; }

static npuc_status check_sections(diag *d, npu_file *f, const file_header *h) {
  const table_entry *table = (const table_entry *)(const void *)(npuc_file_bytes(f->file) + 64);
  uint64_t end = 64 + h->n_sections * sizeof(table_entry);
  for (uint32_t i = 0; i < h->n_sections; i++) NPUC_TRY(check_entry(d, f, &table[i], &end));
  if (!all_zero(npuc_file_bytes(f->file) + end, npuc_file_size(f->file) - end))
    return bad(d, NPUC_DIAG_E1004, f, "end", "the bytes after the last section are not 0");
  for (int k = 0; k < NPU_SECTION_COUNT; k++)
    if (!f->sections[k].data) return bad(d, NPUC_DIAG_E1004, f, kinds[k].name, "the section is missing");
  if (f->sections[NPU_WCRC].records != npuc_npu_file_weight_blocks(f))
    return bad(d, NPUC_DIAG_E1004, f, "WCRC", "its number of checksums is not the number of weight blocks");
  return NPUC_OK;
}

npuc_status npuc_npu_file_open(diag *d, const char *path, npu_file *out_file) {
  *out_file = (npu_file){0};
  NPUC_TRY(npuc_file_map(d, path, &out_file->file));
  const file_header *h = (const file_header *)(const void *)npuc_file_bytes(out_file->file);
  npuc_status status = check_header(d, out_file, h);
  if (status == NPUC_OK) status = check_sections(d, out_file, h);
  if (status != NPUC_OK) npuc_npu_file_close(out_file);
  return status;
}

void npuc_npu_file_close(npu_file *f) {
  if (f->file) npuc_file_release(f->file);
  *f = (npu_file){0};
}

npuc_status npuc_npu_file_check_weights(diag *d, const npu_file *f, size_t first, size_t count) {
  const npu_section *w = &f->sections[NPU_WGTS];
  const uint32_t *crc = f->sections[NPU_WCRC].data;
  for (size_t i = first; i < first + count; i++) {
    size_t at = i * NPU_WEIGHT_BLOCK, n = w->bytes - at < NPU_WEIGHT_BLOCK ? w->bytes - at : NPU_WEIGHT_BLOCK;
    if (npuc_crc32c(0, (const uint8_t *)w->data + at, n) != crc[i])
      return npuc_fail(d, NPUC_DIAG_E1003, &(diag_place){.file = npuc_file_path(f->file), .node = "WGTS"},
                       "the checksum of weight block %zu (bytes %zu to %zu) is wrong", i, at, at + n);
  }
  return NPUC_OK;
}

/* -- writing -- */

static void describe(const npu_section *s, npu_section_kind k, uint64_t offset, table_entry *out) {
  *out = (table_entry){.record_bytes = (uint32_t)kinds[k].record,
                       .offset = offset,
                       .bytes = s->bytes,
                       .records = kinds[k].record ? s->bytes / kinds[k].record : 0};
  memcpy(out->kind, kinds[k].name, 4);
  if (k != NPU_WGTS) out->crc = npuc_crc32c(0, s->data, s->bytes);
}

static uint32_t *weight_checksums(const npu_section *w, size_t *out_count) {
  size_t n = (w->bytes + NPU_WEIGHT_BLOCK - 1) / NPU_WEIGHT_BLOCK;
  uint32_t *crc = npuc_xcalloc(n + 1, sizeof *crc);
  for (size_t i = 0; i < n; i++) {
    size_t at = i * NPU_WEIGHT_BLOCK, bytes = w->bytes - at < NPU_WEIGHT_BLOCK ? w->bytes - at : NPU_WEIGHT_BLOCK;
    crc[i] = npuc_crc32c(0, (const uint8_t *)w->data + at, bytes);
  }
  *out_count = n;
  return crc;
}

static npuc_status pad_to(file_writer *w, uint64_t offset) {
  static const uint8_t zeros[NPU_WEIGHTS_ALIGN];
  return npuc_writer_write(w, zeros, (size_t)(offset - npuc_writer_offset(w)));
}

static npuc_status write_all(file_writer *w, const file_header *h, const table_entry *table, const npu_section *sections) {
  NPUC_TRY(npuc_writer_write(w, h, sizeof *h));
  NPUC_TRY(npuc_writer_write(w, table, NPU_SECTION_COUNT * sizeof *table));
  for (int k = 0; k < NPU_SECTION_COUNT; k++) {
    NPUC_TRY(pad_to(w, table[k].offset));
    if (sections[k].bytes) NPUC_TRY(npuc_writer_write(w, sections[k].data, sections[k].bytes));
  }
  return NPUC_OK;
}

npuc_status npuc_npu_file_write(diag *d, const char *path, const npu_section sections[NPU_SECTION_COUNT], uint64_t *out_bytes) {
  npu_section all[NPU_SECTION_COUNT];
  table_entry table[NPU_SECTION_COUNT];
  size_t blocks;
  memcpy(all, sections, sizeof all);
  uint32_t *crc = weight_checksums(&all[NPU_WGTS], &blocks);
  all[NPU_WCRC] = (npu_section){crc, blocks * sizeof *crc, blocks};
  uint64_t at = 64 + sizeof table;
  for (int k = 0; k < NPU_SECTION_COUNT; k++) {
    uint64_t align = k == NPU_WGTS ? NPU_WEIGHTS_ALIGN : NPU_SECTION_ALIGN;
    at = (at + align - 1) / align * align;
    describe(&all[k], (npu_section_kind)k, at, &table[k]);
    at += all[k].bytes;
  }
  file_header h = {.version = NPU_FILE_VERSION,
                   .header_bytes = 64,
                   .file_bytes = at,
                   .n_sections = NPU_SECTION_COUNT,
                   .table_offset = 64,
                   .table_crc = npuc_crc32c(0, table, sizeof table)};
  memcpy(h.magic, npuc_npu_magic, 8);
  h.header_crc = npuc_crc32c(0, &h, 60);
  file_writer *w = NULL;
  npuc_status status = npuc_writer_create(d, path, &w);
  if (status == NPUC_OK) {
    status = write_all(w, &h, table, all);
    if (status == NPUC_OK)
      status = npuc_writer_commit(w);
    else
      npuc_writer_abandon(w);
  }
  free(crc);
  if (out_bytes) *out_bytes = at;
  return status;
}
