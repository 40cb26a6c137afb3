/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include <string.h>

#include "report/assets.h"
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

/* -- the frame of every page -- */

/* The policy lets the page load nothing at all: what is shown is in the file. */
static void open_page(markup *m, const char *title) {
  npuc_markup_raw(
      m,
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
  npuc_markup_print(m, "<title>%s</title>\n<style>\n", title);
  npuc_markup_raw(m, (const char *)npuc_asset_page_css);
  npuc_markup_raw(m, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to content</a>\n");
}

static void close_page(markup *m) {
  npuc_markup_raw(m, "</main>\n<script>\n");
  npuc_markup_raw(m, (const char *)npuc_asset_page_js);
  npuc_markup_raw(m, "</script>\n");
  npuc_markup_raw(m, "</body>\n</html>\n");
}

static void head(markup *m, const char *kind, const char *title, const char *subtitle) {
  npuc_markup_print(m, "<header class=\"top\">\n<p class=\"kind\">%s</p>\n<h1>%s</h1>\n<p class=\"subtitle\">%s</p>\n</header>\n", kind,
                    title, subtitle);
}

/* -- a build -- */

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

void npuc_report_page(const json_t *report, markup *out_page) {
  page p = {.arena = npuc_arena_create()};
  const char *model = base_name(npuc_json_member_text(json_object_get(report, "options"), "model"));
  const char *target = npuc_json_member_text(report, "target");
  markup bodies[SECTIONS] = {0};
  for (size_t i = 0; i < SECTIONS; i++) {
    sections[i].write(&p, report);
    bodies[i] = p.out;
    p.out = (markup){0};
  }
  open_page(&p.out, npuc_arena_printf(p.arena, "%s on %s", model, target));
  head(&p.out, "Build report", model, npuc_arena_printf(p.arena, "for %s", target));
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
  close_page(&p.out);
  npuc_arena_destroy(p.arena);
  *out_page = p.out;
}
