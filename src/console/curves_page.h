/* curves_page.h - the page that draws a job's curves, for a browser; it asks /board/api. */
#ifndef MUSTER_CONSOLE_CURVES_PAGE_H
#define MUSTER_CONSOLE_CURVES_PAGE_H

#include "net/httpd.h"

/* The same page for every job: its script reads the job from its own address. */
void curves_page_reply(struct httpd_request *http);

#endif
