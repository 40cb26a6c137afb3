/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include "report/section.h"

typedef void section_function(page *p, const json_t *report);

static const struct {
  const char *id, *title;
  section_function *write;
} sections[] = {
#define SECTION(id, title) {#id, title, npuc_section_##id},
#include "report/sections.def"
#undef SECTION
};

enum { SECTIONS = sizeof sections / sizeof *sections };

void npuc_report_page(const json_t *report, markup *out_page) {
  page p = {.arena = npuc_arena_create()};
  const char *model = npuc_base_name(npuc_json_member_text(json_object_get(report, "options"), "model"));
  const char *target = npuc_json_member_text(report, "target");
  markup bodies[SECTIONS] = {0};
  for (size_t i = 0; i < SECTIONS; i++) {
    sections[i].write(&p, report);
    bodies[i] = p.out;
    p.out = (markup){0};
  }
  npuc_page_open(&p.out, npuc_arena_printf(p.arena, "%s on %s", model, target));
  npuc_page_head(&p.out, "Build report", model, npuc_arena_printf(p.arena, "for %s", target));
  npuc_markup_raw(&p.out, "<nav aria-label=\"Sections\"><ul>\n");
  for (size_t i = 0; i < SECTIONS; i++)
    if (bodies[i].text) npuc_markup_print(&p.out, "<li><a href=\"#%s\">%s</a></li>\n", sections[i].id, sections[i].title);
  npuc_markup_raw(&p.out, "</ul></nav>\n<main id=\"content\">\n");
  npuc_section_summary(&p, report);
  for (size_t i = 0; i < SECTIONS; i++) {
    if (!bodies[i].text) continue;
    npuc_markup_print(&p.out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n", sections[i].id,
                      sections[i].id, sections[i].id, sections[i].title);
    npuc_markup_bytes(&p.out, bodies[i].text, bodies[i].bytes);
    npuc_markup_raw(&p.out, "</section>\n");
    npuc_markup_destroy(&bodies[i]);
  }
  npuc_page_close(&p.out);
  npuc_arena_destroy(p.arena);
  *out_page = p.out;
}
