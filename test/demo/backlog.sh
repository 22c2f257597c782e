#!/bin/bash
# Called by 8-async.sql: shows how the backlog of the table package falls, by a figure every tenth of a second, from
# 9 (all of it is left) to 0. Gives up after an hour, as the step after it does.
set -euo pipefail

backlog() {
    psql -XAtq -c "SELECT backlog FROM indextable.queues WHERE fact_table = 'package'::regclass"
}

most=$(backlog)
left=$most
printf '  %d changes are left: ' "$most"
while [ "$left" -gt 0 ]; do
    [ "$SECONDS" -lt 3600 ] || exit 1
    printf '%d' $((left * 9 / most))
    sleep 0.1
    left=$(backlog)
done
printf ', and none is left\n'
