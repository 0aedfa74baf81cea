/* endpoints.h - Endpoints and EndpointSlices, answered and not stored. */
#ifndef MUSTER_SERVER_ENDPOINTS_H
#define MUSTER_SERVER_ENDPOINTS_H

#include "server/request.h"

extern const struct kind kind_endpoints, kind_endpoint_slice;

bool endpoints_are(const struct kind *k); /* one of the two */
/* GET of one or of many, for the request's route. */
int endpoints_answer(struct server_request *r, struct err *err) must_check;

#endif
