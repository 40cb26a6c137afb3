/* SPDX-License-Identifier: Apache-2.0 */
/* A strict look at HTML that was made by a program: every element that opens is closed in order, attributes are quoted, references are known, and nothing is fetched. */
#ifndef NPUC_TESTS_SUPPORT_HTML_H
#define NPUC_TESTS_SUPPORT_HTML_H

/* NULL when well-formed, else what is wrong and where (static memory). */
const char *html_fault(const char *html);
/* How many elements of that name are opened. */
int html_count(const char *html, const char *name);
/* NULL when the page can fetch nothing: none of the spellings by which HTML, CSS or a script would. Names of the page under test must not hold them. */
const char *html_fetches(const char *html);

#endif
