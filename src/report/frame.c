/* SPDX-License-Identifier: Apache-2.0 */
/* What every page begins and ends with. */
#include <string.h>

#include "report/assets.h"
#include "report/section.h"

/* The policy lets the page load nothing at all: what is shown is in the file. */
void npuc_page_open(markup *m, const char *title) {
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

void npuc_page_close(markup *m) {
  npuc_markup_raw(m, "</main>\n<script>\n");
  npuc_markup_raw(m, (const char *)npuc_asset_page_js);
  npuc_markup_raw(m, "</script>\n");
  if (m->text && strstr(m->text, "<div class=\"graph\">")) {
    npuc_markup_raw(m, "<script>\n");
    npuc_markup_raw(m, (const char *)npuc_asset_graph_js);
    npuc_markup_raw(m, "</script>\n");
  }
  npuc_markup_raw(m, "</body>\n</html>\n");
}

void npuc_page_head(markup *m, const char *kind, const char *title, const char *subtitle) {
  npuc_markup_print(m, "<header class=\"top\">\n<p class=\"kind\">%s</p>\n<h1>%s</h1>\n<p class=\"subtitle\">%s</p>\n</header>\n", kind,
                    title, subtitle);
}

const char *npuc_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}
