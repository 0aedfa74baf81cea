/* notification.h - what Notifications and their controller agree on beside the table. */
#ifndef MUSTER_API_NOTIFICATION_H
#define MUSTER_API_NOTIFICATION_H

#include "base/base.h"

/* On a Notification: a test is sent for each new value. */
#define ANNOTATION_SEND_TEST "muster.dev/send-test"

bool notification_url_is_fine(const char *url);

#endif
