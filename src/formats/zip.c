/* SPDX-License-Identifier: Apache-2.0 */
/* minizip over bytes in memory. Deflate cannot expand more than about 1032 times, so a member that promises more lies, and is refused
 * before memory is asked for. */
#include "formats/zip.h"

#include <assert.h>
#include <minizip/unzip.h>
#include <string.h>
#include <zlib.h>

#include "base/limit.h"
#include "base/map.h"

enum { MAX_EXPANSION = 1032, NAME_BYTES = 4096, DIRECTORY_ENTRY_BYTES = 46 };

/* What minizip's "file" is: a cursor over the archive's bytes. */
typedef struct cursor {
  const uint8_t *data;
  uint64_t bytes, at;
} cursor;

struct zip_archive {
  arena *arena;
  const char *path;
  blob *owner;
  cursor cursor;
  unzFile zip;
  zip_member *members;
  size_t n_members;
  map *by_name;
};

/* -- minizip's view of memory -- */
static voidpf open_memory(voidpf opaque, const void *name, int mode) {
  (void)name;
  (void)mode;
  ((cursor *)opaque)->at = 0;
  return opaque;
}

static uLong read_memory(voidpf opaque, voidpf stream, void *to, uLong n) {
  (void)opaque;
  cursor *c = stream;
  uint64_t left = c->at < c->bytes ? c->bytes - c->at : 0;
  uLong got = n < left ? n : (uLong)left;
  memcpy(to, c->data + c->at, got);
  c->at += got;
  return got;
}

static uLong write_memory(voidpf opaque, voidpf stream, const void *from, uLong n) {
  (void)opaque;
  (void)stream;
  (void)from;
  (void)n;
  return 0;
}

static ZPOS64_T tell_memory(voidpf opaque, voidpf stream) {
  (void)opaque;
  return ((cursor *)stream)->at;
}

static long seek_memory(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin) {
  (void)opaque;
  cursor *c = stream;
  uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR ? c->at : origin == ZLIB_FILEFUNC_SEEK_END ? c->bytes : 0;
  if (offset > c->bytes || base > c->bytes - offset) return -1;
  c->at = base + offset;
  return 0;
}

static int close_memory(voidpf opaque, voidpf stream) {
  (void)opaque;
  (void)stream;
  return 0;
}

static int no_error(voidpf opaque, voidpf stream) {
  (void)opaque;
  (void)stream;
  return 0;
}

/* -- the directory -- */
static npuc_status fail_zip(diag *d, const char *path, const char *member, const char *reason) {
  diag_place place = {.file = path, .node = member};
  return npuc_fail(d, NPUC_DIAG_E0214, &place, "%s", reason);
}

static npuc_status read_entry(diag *d, zip_archive *z, zip_member *out) {
  char name[NAME_BYTES];
  unz_file_info64 info;
  if (unzGetCurrentFileInfo64(z->zip, &info, name, sizeof name, NULL, 0, NULL, 0) != UNZ_OK || info.size_filename >= sizeof name) {
    return fail_zip(d, z->path, NULL, "its directory is damaged");
  }
  if (strlen(name) != info.size_filename) return fail_zip(d, z->path, name, "a member's name holds a zero byte");
  if (info.flag & 1) return fail_zip(d, z->path, name, "the member is encrypted");
  if (info.compression_method != 0 && info.compression_method != Z_DEFLATED) {
    return fail_zip(d, z->path, name, "the member is compressed by another method than deflate");
  }
  bool stored = info.compression_method == 0;
  if (info.compressed_size > z->cursor.bytes || (stored && info.compressed_size != info.uncompressed_size) ||
      info.uncompressed_size / MAX_EXPANSION > info.compressed_size) {
    return fail_zip(d, z->path, name, "the member claims more bytes than the archive can hold for it");
  }
  unz64_file_pos at;
  if (unzGetFilePos64(z->zip, &at) != UNZ_OK) return fail_zip(d, z->path, name, "its directory is damaged");
  *out = (zip_member){.name = npuc_arena_str(z->arena, name),
                      .bytes = info.uncompressed_size,
                      .packed = info.compressed_size,
                      .stored = stored,
                      .position = at.pos_in_zip_directory,
                      .number = at.num_of_file};
  if (npuc_map_put(z->by_name, out->name, out)) return fail_zip(d, z->path, name, "two members have this name");
  return NPUC_OK;
}

static npuc_status read_directory(diag *d, zip_archive *z) {
  unz_global_info64 global;
  if (unzGetGlobalInfo64(z->zip, &global) != UNZ_OK || global.number_entry > z->cursor.bytes / DIRECTORY_ENTRY_BYTES) {
    return fail_zip(d, z->path, NULL, "its directory is damaged");
  }
  z->members = NPUC_NEW_ARRAY(z->arena, (size_t)global.number_entry, zip_member);
  int at = global.number_entry ? unzGoToFirstFile(z->zip) : UNZ_END_OF_LIST_OF_FILE;
  for (; at != UNZ_END_OF_LIST_OF_FILE; at = unzGoToNextFile(z->zip)) {
    if (at != UNZ_OK || z->n_members == global.number_entry) return fail_zip(d, z->path, NULL, "its directory is damaged");
    NPUC_TRY(read_entry(d, z, &z->members[z->n_members]));
    z->n_members++;
  }
  if (z->n_members != global.number_entry) return fail_zip(d, z->path, NULL, "its directory is cut off");
  return NPUC_OK;
}

npuc_status npuc_zip_open(diag *d, const char *path, blob *owner, const void *data, size_t bytes, zip_archive **out_archive) {
  *out_archive = NULL;
  arena *a = npuc_arena_create();
  zip_archive *z = NPUC_NEW(a, zip_archive);
  *z = (zip_archive){.arena = a,
                     .path = npuc_arena_str(a, path),
                     .owner = npuc_blob_retain(owner),
                     .cursor = {.data = data, .bytes = bytes},
                     .by_name = npuc_map_create(a)};
  zlib_filefunc64_def memory = {open_memory, read_memory, write_memory, tell_memory, seek_memory, close_memory, no_error, &z->cursor};
  z->zip = bytes ? unzOpen2_64("", &memory) : NULL;
  npuc_status status = z->zip ? read_directory(d, z) : fail_zip(d, path, NULL, "it is no zip archive, or it is cut off");
  if (status != NPUC_OK) {
    npuc_zip_close(z);
    return status;
  }
  *out_archive = z;
  return NPUC_OK;
}

void npuc_zip_close(zip_archive *z) {
  if (!z) return;
  if (z->zip) (void)unzClose(z->zip);
  npuc_blob_release(z->owner);
  npuc_arena_destroy(z->arena);
}

size_t npuc_zip_count(const zip_archive *z) { return z->n_members; }
const zip_member *npuc_zip_at(const zip_archive *z, size_t index) { return &z->members[index]; }
const zip_member *npuc_zip_find(const zip_archive *z, const char *name) { return npuc_map_get(z->by_name, name); }

/* -- members -- */
static npuc_status inflate_member(diag *d, const zip_archive *z, const zip_member *m, blob **out_owner, const uint8_t **out_data) {
  blob *b = npuc_blob_create(m->bytes ? (size_t)m->bytes : 1);
  if (!b) return npuc_fail_memory(d, &(diag_place){.file = z->path}, (size_t)m->bytes, "the member %s", m->name);
  uint8_t *to = npuc_blob_data(b);
  uint64_t done = 0;
  while (done < m->bytes) {
    uint64_t left = m->bytes - done;
    int got = unzReadCurrentFile(z->zip, to + done, (unsigned)(left < 1u << 30 ? left : 1u << 30));
    if (got <= 0) break;
    done += (unsigned)got;
  }
  if (done == m->bytes) {
    *out_owner = b;
    *out_data = to;
    return NPUC_OK;
  }
  npuc_blob_release(b);
  return fail_zip(d, z->path, m->name, "the member's compressed data is damaged or cut off");
}

/* minizip compares the checksum only after all bytes were read through it, so a stored member's is computed here. */
static npuc_status view_member(diag *d, const zip_archive *z, const zip_member *m, bool check, blob **out_owner, const uint8_t **out_data) {
  uint64_t offset = unzGetCurrentFileZStreamPos64(z->zip);
  if (offset > z->cursor.bytes || m->bytes > z->cursor.bytes - offset) return fail_zip(d, z->path, m->name, "the member is cut off");
  const uint8_t *data = z->cursor.data + offset;
  if (check) {
    unz_file_info64 info;
    uLong sum = crc32_z(0, data, (size_t)m->bytes);
    if (unzGetCurrentFileInfo64(z->zip, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK || info.crc != sum) {
      return fail_zip(d, z->path, m->name, "the member's checksum is wrong");
    }
  }
  *out_owner = npuc_blob_retain(z->owner);
  *out_data = data;
  return NPUC_OK;
}

npuc_status npuc_zip_read(diag *d, const zip_archive *z, const zip_member *m, bool check, blob **out_owner, const uint8_t **out_data) {
  const unz64_file_pos at = {.pos_in_zip_directory = m->position, .num_of_file = m->number};
  if (unzGoToFilePos64(z->zip, &at) != UNZ_OK || unzOpenCurrentFile2(z->zip, NULL, NULL, m->stored) != UNZ_OK) {
    return fail_zip(d, z->path, m->name, "the member's own header contradicts the directory");
  }
  npuc_status status = m->stored ? view_member(d, z, m, check, out_owner, out_data) : inflate_member(d, z, m, out_owner, out_data);
  int closed = unzCloseCurrentFile(z->zip);
  if (status == NPUC_OK && closed == UNZ_CRCERROR && !m->stored) {
    npuc_blob_release(*out_owner);
    status = fail_zip(d, z->path, m->name, "the member's checksum is wrong");
  }
  return status;
}
