/* SPDX-License-Identifier: Apache-2.0 */
#include "import/read.h"

#include <string.h>

#include "formats/safetensors.h"
#include "formats/zip.h"
#include "import/onnx/onnx.h"
#include "import/pt2/pt2.h"
#include "import/state_dict.h"
#include "import/torch/torch.h"

static const uint8_t npu_magic[8] = {0x89, 'N', 'P', 'U', 0x0d, 0x0a, 0x1a, 0x0a};

/* A protobuf field tag that ModelProto begins with; the reader judges the rest. */
static bool begins_like_onnx(uint8_t first) {
  static const uint8_t tags[] = {0x08, 0x12, 0x1a, 0x22, 0x28, 0x3a, 0x42};
  return memchr(tags, first, sizeof tags) != NULL;
}

static bool has_member(const zip_archive *z, const char *name) {
  size_t n = strlen(name);
  for (size_t i = 0; i < npuc_zip_count(z); i++) {
    const char *at = npuc_zip_at(z, i)->name;
    size_t length = strlen(at);
    if (length >= n && strcmp(at + length - n, name) == 0 && (length == n || at[length - n - 1] == '/')) return true;
  }
  return false;
}

static npuc_status archive_format(diag *d, const char *path, mapped_file *file, source_format *out) {
  blob *b = npuc_blob_from_file(file);
  zip_archive *z;
  npuc_status status = npuc_zip_open(d, path, b, npuc_blob_data(b), npuc_blob_size(b), &z);
  npuc_blob_release(b);
  if (status != NPUC_OK) return status;
  if (npuc_pt2_is(z))
    *out = SOURCE_PT2;
  else if (has_member(z, "constants.pkl"))
    *out = SOURCE_TORCHSCRIPT;
  else if (has_member(z, "data.pkl"))
    *out = SOURCE_TORCH;
  npuc_zip_close(z);
  return NPUC_OK;
}

npuc_status npuc_source_format(diag *d, const char *path, source_format *out_format) {
  mapped_file *file;
  *out_format = SOURCE_UNKNOWN;
  NPUC_TRY(npuc_file_map(d, path, &file));
  size_t n = npuc_file_size(file);
  const uint8_t *bytes = npuc_file_bytes(file);
  npuc_status status = NPUC_OK;
  if (n >= sizeof npu_magic && memcmp(bytes, npu_magic, sizeof npu_magic) == 0)
    *out_format = SOURCE_NPU;
  else if (n >= 4 && memcmp(bytes, "PK\3\4", 4) == 0)
    status = archive_format(d, path, file, out_format);
  else if (n >= 2 && bytes[0] == 0x80 && bytes[1] >= 2 &&
           bytes[1] <= 5) /* a pickle's PROTO: torch.save's legacy form, or the reader says what else */
    *out_format = SOURCE_TORCH;
  else if (npuc_safetensors_is(bytes, n, n))
    *out_format = SOURCE_SAFETENSORS;
  else if (n >= 2 && begins_like_onnx(bytes[0]))
    *out_format = SOURCE_ONNX;
  npuc_file_release(file);
  return status;
}

static npuc_status no_graph(diag *d, const char *path, source_format format) {
  diag_place place = {.file = path};
  static const char how[] = "export the model from Python: torch.export.save(torch.export.export(model, args), 'model.pt2')";
  if (format == SOURCE_TORCHSCRIPT) {
    npuc_status status = npuc_fail(d, NPUC_DIAG_E0331, &place, "the file is a TorchScript archive (torch.jit.save)");
    npuc_fix(d, "%s", how);
    return status;
  }
  if (format == SOURCE_TORCH || format == SOURCE_SAFETENSORS || npuc_state_dict_is(path)) {
    npuc_status status = npuc_fail(d, NPUC_DIAG_E0906, &place, "it holds tensors (torch.save, safetensors) without a graph");
    npuc_fix(d, "npuc inspect '%s' lists them", path);
    npuc_fix(d, "%s", how);
    npuc_fix(d, "--state-dict '%s' puts them into the graph of another file", path);
    return status;
  }
  return npuc_fail(d, NPUC_DIAG_E0906, &place, "it begins like no format that npuc reads (ONNX, .pt2, .npu, or a folder made by npuc)");
}

npuc_status npuc_source_read(diag *d, const char *path, module **out_module) {
  source_format format;
  *out_module = NULL;
  if (npuc_path_is_dir(path)) return no_graph(d, path, SOURCE_UNKNOWN);
  NPUC_TRY(npuc_source_format(d, path, &format));
  if (format == SOURCE_ONNX) return npuc_onnx_read(d, path, out_module);
  if (format == SOURCE_PT2) return npuc_pt2_read(d, path, out_module);
  return no_graph(d, path, format);
}
