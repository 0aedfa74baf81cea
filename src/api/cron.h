/* cron.h - schedules as CronJobs write them: "0 3 * * 1-5", "@hourly". Times are UTC. */
#ifndef MUSTER_API_CRON_H
#define MUSTER_API_CRON_H

#include "base/err.h"

struct cron {
    uint64_t minutes, hours, days, months, weekdays; /* bit n: at n */
    bool any_day, any_weekday;                       /* begins with a star */
};

/* Errors say which of the five it is. */
int cron_parse(const char *text, struct cron *ret, struct err *err) must_check;
/* The first time after that, in ms; 0: there is none within five years (February 30th). */
int64_t cron_next_ms(const struct cron *c, int64_t after_ms);
/* The last time not after now_ms, and after after_ms; 0: there is none. */
int64_t cron_last_ms(const struct cron *c, int64_t after_ms, int64_t now_ms);

#endif
