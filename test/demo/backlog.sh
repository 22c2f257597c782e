#!/bin/bash
# Called by 8-async.sql: shows how the backlog of the table package falls, in percent, each ten of them once. Gives up after
# an hour, as the step after it does.
set -euo pipefail

backlog() {
    psql -XAtq -c "SELECT backlog FROM indextable.queues WHERE fact_table = 'package'::regclass"
}

most=$(backlog)
left=$most shown=10
printf '  %d changes are left' "$most"
while [ "$left" -gt 0 ]; do
    [ "$SECONDS" -lt 3600 ] || exit 1
    if [ $((left * 10 / most)) -lt "$shown" ]; then
        shown=$((left * 10 / most))
        printf ', %d %%' $((left * 100 / most))
    fi
    sleep 0.1
    left=$(backlog)
done
printf ', and now none\n'
