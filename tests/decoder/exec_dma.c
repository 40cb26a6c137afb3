/* SPDX-License-Identifier: Apache-2.0 */
/* DMA: rows of bytes between a DRAM region and SP or WB. */
#include "machine.h"

#include <string.h>

static uint8_t *dram_row(const machine *m, const region *from, int64_t offset, int64_t bytes) {
  if (offset < 0 || (uint64_t)offset > from->bytes || (uint64_t)bytes > from->bytes - (uint64_t)offset)
    decoder_machine_fail(m, "an access outside a DRAM region");
  return from->data + offset;
}

static void load(const machine *m, const insn *in, int64_t dram_pitch, int64_t local_pitch) {
  const int64_t *f = in->f;
  for (int64_t i = 0; i < f[DLD_ROWS]; i++) {
    const uint8_t *from = dram_row(m, &m->dram[f[DLD_REGION]], f[DLD_DRAM] + i * dram_pitch, f[DLD_BYTES]);
    int64_t local = f[DLD_LOCAL] + i * local_pitch;
    if (f[DLD_MEM] && local + f[DLD_BYTES] > m->hw.wb_bytes) decoder_machine_fail(m, "an access outside the weight buffer");
    uint8_t *to = f[DLD_MEM] ? m->wb + local : decoder_sp(m, local, f[DLD_BYTES]);
    memcpy(to, from, (size_t)f[DLD_BYTES]);
  }
}

static void store(const machine *m, const insn *in, int64_t dram_pitch, int64_t local_pitch) {
  const int64_t *f = in->f;
  for (int64_t i = 0; i < f[DST_ROWS]; i++) {
    uint8_t *to = dram_row(m, &m->dram[f[DST_REGION]], f[DST_DRAM] + i * dram_pitch, f[DST_BYTES]);
    memcpy(to, decoder_sp(m, f[DST_LOCAL] + i * local_pitch, f[DST_BYTES]), (size_t)f[DST_BYTES]);
  }
}

void decoder_exec_dma(machine *m, const insn *in) {
  switch (in->spec->code) {
    case OP_DCFG:
      m->dram_pitch[m->queue] = in->f[DCFG_DRAM_PITCH];
      m->local_pitch[m->queue] = in->f[DCFG_LOCAL_PITCH];
      break;
    case OP_DLD:
      load(m, in, m->dram_pitch[m->queue], m->local_pitch[m->queue]);
      break;
    case OP_DST:
      store(m, in, m->dram_pitch[m->queue], m->local_pitch[m->queue]);
      break;
    default:
      break;
  }
}
