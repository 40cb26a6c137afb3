/* SPDX-License-Identifier: Apache-2.0 */
#include "support/html.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 64, NAME_ROOM = 32 };

typedef struct parser {
  const char *begin, *at;
  char open[DEEPEST][NAME_ROOM];
  int depth;
} parser;

static char message[256];

static const char *fault(const parser *p, const char *why) {
  snprintf(message, sizeof message, "byte %ld: %s: %.60s", (long)(p->at - p->begin), why, p->at);
  return message;
}

static bool is_one_of(const char *name, const char *const *list) {
  for (; *list; list++)
    if (strcmp(name, *list) == 0) return true;
  return false;
}

static bool read_name(parser *p, char name[NAME_ROOM]) {
  size_t n = 0;
  while (isalnum((unsigned char)*p->at) || *p->at == '-') {
    if (n + 1 == NAME_ROOM) return false;
    name[n++] = (char)tolower((unsigned char)*p->at++);
  }
  name[n] = '\0';
  return n > 0;
}

static const char *text(parser *p, const char *end) {
  static const char *const references[] = {"amp", "lt", "gt", "quot", "#39", NULL};
  for (; p->at < end; p->at++) {
    if (*p->at == '<' || *p->at == '>') return fault(p, "a bare angle bracket");
    if (*p->at != '&') continue;
    size_t n = strcspn(p->at + 1, ";");
    char name[NAME_ROOM];
    if (n + 1 > NAME_ROOM) return fault(p, "a bare ampersand");
    memcpy(name, p->at + 1, n);
    name[n] = '\0';
    if (!is_one_of(name, references)) return fault(p, "an unknown reference");
  }
  return NULL;
}

/* name="value" or a bare name, until > or />. */
static const char *attributes(parser *p, bool *out_closed) {
  char name[NAME_ROOM];
  for (;;) {
    while (isspace((unsigned char)*p->at)) p->at++;
    *out_closed = *p->at == '/';
    if (*out_closed) p->at++;
    if (*p->at == '>') {
      p->at++;
      return NULL;
    }
    if (*out_closed || !read_name(p, name)) return fault(p, "not an attribute");
    if (*p->at != '=') continue;
    if (*++p->at != '"') return fault(p, "an attribute without quotes");
    const char *end = strchr(++p->at, '"');
    if (!end) return fault(p, "an attribute without end");
    const char *bad = text(p, end);
    if (bad) return bad;
    p->at = end + 1;
  }
}

static const char *close_element(parser *p) {
  char name[NAME_ROOM];
  if (!read_name(p, name) || *p->at != '>') return fault(p, "a broken end tag");
  p->at++;
  if (p->depth == 0 || strcmp(p->open[p->depth - 1], name) != 0) {
    snprintf(message, sizeof message, "byte %ld: </%s> closes <%s>", (long)(p->at - p->begin), name,
             p->depth ? p->open[p->depth - 1] : "nothing");
    return message;
  }
  p->depth--;
  return NULL;
}

static const char *open_element(parser *p) {
  static const char *const empty[] = {"meta", "br", "input", "hr", "link", "img", NULL}, *const raw[] = {"script", "style", NULL};
  char name[NAME_ROOM];
  bool closed;
  if (!read_name(p, name)) return fault(p, "not an element");
  const char *bad = attributes(p, &closed);
  if (bad) return bad;
  if (closed || is_one_of(name, empty)) return NULL;
  if (p->depth == DEEPEST) return fault(p, "too deep");
  memcpy(p->open[p->depth++], name, NAME_ROOM);
  if (!is_one_of(name, raw)) return NULL;
  p->at = strstr(p->at, strcmp(name, "script") == 0 ? "</script" : "</style");
  return p->at ? NULL : "a script or style without end";
}

const char *html_fault(const char *html) {
  static const char doctype[] = "<!DOCTYPE html>";
  parser p = {.begin = html, .at = html};
  if (strncmp(html, doctype, sizeof doctype - 1) != 0) return "no doctype";
  p.at += sizeof doctype - 1;
  while (*p.at) {
    const char *tag = strchr(p.at, '<'), *bad = text(&p, tag ? tag : p.at + strlen(p.at));
    if (!bad && tag) {
      p.at = tag + 1;
      bool ends = *p.at == '/';
      p.at += ends;
      bad = ends ? close_element(&p) : open_element(&p);
    }
    if (bad) return bad;
  }
  return p.depth ? fault(&p, "elements are left open") : NULL;
}

int html_count(const char *html, const char *name) {
  int n = 0;
  size_t length = strlen(name);
  for (const char *at = html; (at = strchr(at, '<')); at++)
    n += strncmp(at + 1, name, length) == 0 && !isalnum((unsigned char)at[1 + length]) && at[1 + length] != '-';
  return n;
}

const char *html_fetches(const char *html) {
  static const char *const forbidden[] = {"http:",   "https:", "//cdn",   " src=",  "@import",        "url(",    "<link",
                                          "<iframe", "<img",   "<object", "fetch(", "XMLHttpRequest", "import(", NULL};
  for (const char *const *one = forbidden; *one; one++)
    if (strstr(html, *one)) return *one;
  return NULL;
}
