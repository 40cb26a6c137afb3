/* SPDX-License-Identifier: Apache-2.0 */
/* In torch a view shares its base's bytes, and `x[:, 0].add_(1)` changes x. The IR has values, not bytes, so a write makes a new value of the
 * base, and every other view of it is made again when it is next read:
 *
 *   base (version 1) ── view.apply ──> window (version 1)
 *   write(window, new):  base' = view.write(base, new), version 2;  another window sees version 2 and applies its view to base'
 *
 * This is what torch's own functionalization does. Unwritten programs pay nothing: versions never change. */
#include "import/pt2/source.h"

struct pt2_tensor {
  pt2_storage *storage;
  pt2_tensor *parent; /* NULL: the whole storage */
  pt2_view view;
  value *content; /* of a view, as of `version` */
  uint64_t version;
};

pt2_tensor *npuc_pt2_own(pt2_source *s, value *v) { return npuc_pt2_port(s, NULL, v); }

pt2_tensor *npuc_pt2_port(pt2_source *s, const char *name, value *v) {
  pt2_tensor *t = NPUC_NEW(s->scratch, pt2_tensor);
  t->storage = NPUC_NEW(s->scratch, pt2_storage);
  *t->storage = (pt2_storage){.content = v, .port = name, .initial = v};
  return t;
}

bool npuc_pt2_is_whole(const pt2_tensor *t) { return !t->parent; }

pt2_storage *npuc_pt2_storage(const pt2_tensor *t) { return t->storage; }

pt2_tensor *npuc_pt2_view_of(pt2_source *s, pt2_tensor *parent, const pt2_view *view, value *v) {
  pt2_tensor *t = NPUC_NEW(s->scratch, pt2_tensor);
  *t = (pt2_tensor){.storage = parent->storage, .parent = parent, .view = *view, .content = v, .version = parent->storage->version};
  return t;
}

npuc_status npuc_pt2_view_make(pt2_node *n, pt2_tensor *parent, const pt2_view *view, pt2_tensor **out_tensor) {
  value *base, *content;
  NPUC_TRY(npuc_pt2_read_tensor(n, parent, &base));
  NPUC_TRY(view->apply(n, view, base, &content));
  *out_tensor = npuc_pt2_view_of(n->s, parent, view, content);
  return NPUC_OK;
}

npuc_status npuc_pt2_read_tensor(pt2_node *n, pt2_tensor *t, value **out_value) {
  if (!t->parent) {
    *out_value = t->storage->content;
    return NPUC_OK;
  }
  if (t->version != t->storage->version) {
    value *base;
    NPUC_TRY(npuc_pt2_read_tensor(n, t->parent, &base));
    NPUC_TRY(t->view.apply(n, &t->view, base, &t->content));
    t->version = t->storage->version;
  }
  *out_value = t->content;
  return NPUC_OK;
}

static void note_state(pt2_source *s, pt2_storage *storage) {
  if (!storage->port || storage->version) return;
  if (s->last_state)
    s->last_state->next_state = storage;
  else
    s->states = storage;
  s->last_state = storage;
}

npuc_status npuc_pt2_write_tensor(pt2_node *n, pt2_tensor *t, value *content) {
  if (!t->parent) {
    note_state(n->s, t->storage);
    t->storage->content = content;
    t->storage->version++;
    return NPUC_OK;
  }
  if (!t->view.write)
    return npuc_pt2_fail(n, NPUC_DIAG_E0336, "self",
                         "a write in place through a view that may be a copy, or in which one element stands in several places");
  value *base, *changed;
  NPUC_TRY(npuc_pt2_read_tensor(n, t->parent, &base));
  NPUC_TRY(t->view.write(n, &t->view, base, content, &changed));
  NPUC_TRY(npuc_pt2_write_tensor(n, t->parent, changed));
  t->content = content;
  t->version = t->storage->version;
  return NPUC_OK;
}
