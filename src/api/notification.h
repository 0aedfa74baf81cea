/* notification.h - what Notifications and their controller agree on besides the table. */
#ifndef MUSTER_API_NOTIFICATION_H
#define MUSTER_API_NOTIFICATION_H

#include "base/base.h"

/* On a Notification: a test is sent for each new value. */
#define ANNOTATION_SEND_TEST "muster.dev/send-test"

#define NOTIFY_PENDING_LIMIT 20
#define NOTIFY_RECENT_LIMIT 256

bool notification_url_is_fine(const char *url);

#endif
