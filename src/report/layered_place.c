/* SPDX-License-Identifier: Apache-2.0 */
/* Coordinates: rank by rank, every item wishes to be at the mean of its neighbours; the nearest places (least squares) that keep order and distances are found by pooling neighbours
 * that stand in each other's way, as in isotonic regression. Edges from bend to bend weigh most, so that long edges run straight, then those from node to node: where a path
 * divides, the bends step aside and the nodes stay in line. */
#include "report/layered_internal.h"

enum { PASSES = 24, BEND_WEIGHT = 6, NODE_WEIGHT = 4 };

/* A light pull to the middle: without it a deep graph of lopsided blocks drifts to one side. */
static const double pull = 0.08;

typedef struct pool_block {
  double sum, weight; /* of wishes, each less its distance from the block's first item */
  int32_t first, count;
} pool_block;

static double wish(const layered_plan *p, const layered_item *it, bool from_above) {
  const int32_t *neighbours = from_above ? it->up : it->down;
  int32_t n = from_above ? it->n_up : it->n_down;
  double sum = 0, weight = 0;
  for (int32_t i = 0; i < n; i++) {
    const layered_item *other = &p->items[neighbours[i]];
    double w = it->is_bend && other->is_bend ? BEND_WEIGHT : it->is_bend || other->is_bend ? 1 : NODE_WEIGHT;
    sum += other->x * w;
    weight += w;
  }
  return weight > 0 ? sum / (weight + pull) : it->x;
}

static void place_rank(layered_plan *p, int32_t rank, bool from_above, pool_block *blocks, double *offsets) {
  const layered_rank *r = &p->ranks[rank];
  int32_t n = 0;
  for (int32_t i = 0; i < r->count; i++) {
    const layered_item *it = &p->items[r->items[i]], *before = i ? &p->items[r->items[i - 1]] : NULL;
    offsets[i] = before ? offsets[i - 1] + (before->width + it->width) / 2 + p->gap : 0;
    int32_t links = from_above ? it->n_up : it->n_down;
    double weight = links == 0 ? 0.05 : it->is_bend ? 1 : NODE_WEIGHT;
    blocks[n++] = (pool_block){(wish(p, it, from_above) - offsets[i]) * weight, weight, i, 1};
    while (n > 1 && blocks[n - 2].sum / blocks[n - 2].weight > blocks[n - 1].sum / blocks[n - 1].weight) {
      blocks[n - 2].sum += blocks[n - 1].sum;
      blocks[n - 2].weight += blocks[n - 1].weight;
      blocks[n - 2].count += blocks[n - 1].count;
      n--;
    }
  }
  for (int32_t b = 0; b < n; b++) {
    for (int32_t i = blocks[b].first; i < blocks[b].first + blocks[b].count; i++)
      p->items[r->items[i]].x = blocks[b].sum / blocks[b].weight + offsets[i];
  }
}

/* To begin with: side by side, each rank centred. */
static void spread(layered_plan *p) {
  for (int32_t r = 0; r < p->n_ranks; r++) {
    double at = 0;
    for (int32_t i = 0; i < p->ranks[r].count; i++) {
      layered_item *it = &p->items[p->ranks[r].items[i]];
      it->x = at + it->width / 2;
      at += it->width + p->gap;
    }
    for (int32_t i = 0; i < p->ranks[r].count; i++) p->items[p->ranks[r].items[i]].x -= (at - p->gap) / 2;
  }
}

void npuc_layered_place(layered_plan *p) {
  int32_t widest = 1;
  for (int32_t r = 0; r < p->n_ranks; r++)
    if (p->ranks[r].count > widest) widest = p->ranks[r].count;
  pool_block *blocks = NPUC_NEW_ARRAY(p->scratch, (size_t)widest, pool_block);
  double *offsets = NPUC_NEW_ARRAY(p->scratch, (size_t)widest, double);
  spread(p);
  for (int pass = 0; pass < PASSES; pass++) {
    bool down = pass % 2 == 0;
    for (int32_t i = 0; i < p->n_ranks; i++) place_rank(p, down ? i : p->n_ranks - 1 - i, down, blocks, offsets);
  }
}
