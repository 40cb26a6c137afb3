#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pages in a real browser: no console message, tables without a script, the viewer with one; load time and size are printed, not judged (the machine may be busy).
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$chromium" ] || { echo "skipped: no Chromium here (CHROMIUM names it)"; exit 77; }
python=${NPUC_PYTHON:-$NPUC_BINARY_DIR/venv/bin/python}

# open_page PAGE [FLAGS]: the document as the browser has it, dom.html; what it said, browser.txt
open_page() {
  page=$1; shift
  rm -rf profile
  "$chromium" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync \
    --user-data-dir="$PWD/profile" --enable-logging=stderr --window-size=1280,9000 "$@" --dump-dom "file://$PWD/$page" > dom.html 2> browser.txt || fail "$page: the browser failed"
}
heard() { ! grep CONSOLE browser.txt || fail "$1: the console has messages"; }
# The graph's viewer is made when it comes into sight. A busy machine may end the (virtual) time before the first frame: then there is more of it.
views() {
  for budget in 3000 10000 30000; do
    open_page "$1" --virtual-time-budget=$budget
    heard "$1"
    grep -q 'class="graph viewer"' dom.html && return
  done
  fail "$1: the graph's viewer is not there"
}
# A page with a stopwatch of the test's own behind it.
timed() {
  cat "$1" - > timed.html <<'PAGE'
<script>addEventListener("load", () => setTimeout(() => { document.documentElement.dataset.loaded = Math.round(performance.now()); }, 0));</script>
PAGE
  open_page timed.html
  heard "$1"
  printf '%s: %s bytes, loaded in %s ms\n' "$1" "$(wc -c < "$1")" "$(sed -n 's/.*data-loaded="\([0-9]*\)".*/\1/p' dom.html | head -1)"
}

status 0 compile_demo out --eval "$demo/test.npy"
status 0 "$NPUC" report out -o report.html
status 0 compile_demo other --set quantize.observer=min-max
status 0 "$NPUC" report out other -o compare.html
status 0 "$NPUC" inspect "$demo/model.onnx" --graph graph.html

timed report.html
says dom.html 'class="js"'
says dom.html 'class="theme"'
timed compare.html
timed graph.html
views report.html
views graph.html

# negative control: the console is heard
printf '<!DOCTYPE html><title>x</title><script>nothing.at.all()</script>' > broken.html
(open_page broken.html; heard broken.html) | grep -q FAILED || fail "a broken script was not noticed"

# without a script (a browser that is asked for a document needs its own, so the page's are forbidden in it): tables, charts and the picture of the graph
sed "s/script-src 'unsafe-inline'/script-src 'none'/" report.html > plain.html
open_page plain.html
! grep -q 'class="js"' dom.html || fail "the script ran"
for text in '<strong>13,641</strong>' 'Placement by node</caption>' 'aria-label="Graph signnet' '<figure class="histogram'; do says dom.html "$text"; done

# a large graph: the viewer draws it
if "$python" -c 'import onnx' 2> /dev/null; then
  "$python" "$NPUC_SOURCE_DIR/tests/extra/large_graph.py" 2600 large.onnx
  status 0 "$NPUC" inspect large.onnx --graph large.html
  timed large.html
  views large.html
else
  echo "not run: the large graph needs Python's onnx"
fi
finish
