#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The closing line counts each cmocka test, and its status is bad when any failed. usage: summary_test.sh SOURCE SCRATCH
set -eu
source=$1 dir=$2
mkdir -p "$dir"
cat > "$dir/junit.xml" <<'XML'
<testsuite name="(empty)" tests="4" failures="2">
	<testcase name="unit/a" classname="unit/a" time="0.1" status="run">
		<system-out>[==========] Running 3 test(s).
[ RUN      ] first
[       OK ] first
[ RUN      ] second
no ../shared/data &lt;here&gt;
[  SKIPPED ] second
[==========] 2 test(s) run.
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] second
</system-out>
	</testcase>
	<testcase name="unit/b" classname="unit/b" time="0.1" status="fail">
		<failure message="Failed"/>
		<system-out>[ RUN      ] third
[  FAILED  ] third
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] third
</system-out>
	</testcase>
	<testcase name="cli/c" classname="cli/c" time="0.1" status="notrun">
		<skipped message="SKIP_RETURN_CODE=77"/>
		<system-out>skipped: no Python</system-out>
	</testcase>
	<testcase name="cli/d" classname="cli/d" time="0.1" status="fail">
		<failure message="SEGFAULT"/>
		<system-out></system-out>
	</testcase>
</testsuite>
XML
if awk -f "$source/scripts/test-summary.awk" "$dir/junit.xml" > "$dir/out"; then echo "failures gave a good status"; exit 1; fi
cat > "$dir/expected" <<'TEXT'
skipped: unit/a: second: no ../shared/data <here>
skipped: cli/c: no Python
1 passed, 2 failed, 2 skipped
TEXT
diff -u "$dir/expected" "$dir/out"
rm -rf "$dir"
