/* cron.h - CronJob schedules: "0 3 * * 1-5", "@hourly". Times are UTC. */
#ifndef MUSTER_API_CRON_H
#define MUSTER_API_CRON_H

#include "base/err.h"

struct cron {
    uint64_t minutes, hours, days, months, weekdays; /* bit n is set when n matches */
    bool any_day, any_weekday;                       /* the part starts with "*" */
};

/* Errors name the offending one of the five parts. */
int cron_parse(const char *text, struct cron *ret, struct err *err) must_check;
/* The next time after after_ms; 0 when there is none within five years (February 30th). */
int64_t cron_next_ms(const struct cron *c, int64_t after_ms);
/* The last time in (after_ms, now_ms]; 0 when there is none. */
int64_t cron_last_ms(const struct cron *c, int64_t after_ms, int64_t now_ms);

#endif
