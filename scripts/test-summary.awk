# SPDX-License-Identifier: Apache-2.0
# Reads ctest's JUnit report. A unit test program holds many cmocka tests, each of which counts; every other test counts as one.
# Each skipped one is listed with its reason: what the test printed before it skipped, or ctest's own words.
function unescaped(s) {
  gsub(/&lt;/, "<", s); gsub(/&gt;/, ">", s); gsub(/&quot;/, "\"", s); gsub(/&apos;/, "'", s); gsub(/&amp;/, "\\&", s)
  return s
}
function attribute(line, name,   at, rest) {
  at = index(line, " " name "=\"")
  if (!at) return ""
  rest = substr(line, at + length(name) + 3)
  return unescaped(substr(rest, 1, index(rest, "\"") - 1))
}
function close_case() {
  if (name == "") return
  if (ok + bad + left == 0) {          # not a cmocka program
    if (result == "failed") failed++
    else if (result == "skipped") { skipped++; reasons[++n_reasons] = name ": " (why != "" ? why : said) }
    else passed++
  } else {
    passed += ok; failed += bad; skipped += left
    if (result == "failed" && bad == 0) failed++   # died, or a sanitizer spoke after the tests
  }
  name = ""
}
/<testcase / {
  close_case()
  name = attribute($0, "name"); result = "passed"; ok = bad = left = 0; why = said = text = ""
  if (attribute($0, "status") == "fail") result = "failed"
}
/<failure/ { result = "failed" }
/<skipped/ {
  result = "skipped"; why = attribute($0, "message")
  if (why ~ /SKIP_RETURN_CODE/) why = ""
  if (why ~ /Unable to find/) result = "failed"   # it was not built
}
/\[ RUN      \]/ { text = ""; next }
/\[       OK \]/ { ok++; text = ""; next }
/\[  FAILED  \] [A-Za-z_]/ { if ($0 !~ /test\(s\)/ && !((name, $0) in seen)) { seen[name, $0] = 1; bad++ }; text = ""; next }
/\[  SKIPPED \] [A-Za-z_]/ {
  line = unescaped($0); sub(/.*\[  SKIPPED \] /, "", line)
  if (!((name, line) in seen)) { seen[name, line] = 1; left++; reasons[++n_reasons] = name ": " line ": " text }
  text = ""; next
}
{
  line = unescaped($0); gsub(/<\/?system-out>/, "", line); gsub(/^[ \t]+/, "", line)
  if (line !~ /^[ \t]*<|^\[/ && line ~ /[^ \t]/) { text = text (text == "" ? "" : " ") line; if (tolower(line) ~ /skip/) said = line }
}
END {
  close_case()
  for (i = 1; i <= n_reasons; i++) {
    r = reasons[i]; sub(/: [sS]kip(ped)?: /, ": ", r); sub(/: $/, ": (the test gave no reason)", r)
    print "skipped: " substr(r, 1, 300)
  }
  printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
  exit failed > 0
}
