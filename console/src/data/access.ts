// Whether who is signed in may do something: the server knows.
import { create } from "./api.ts";

export interface Wish {
  verb: string;
  resource: string;
  group?: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

export async function mayI(wish: Wish): Promise<boolean> {
  const review = await create<{ status?: { allowed?: boolean } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: wish },
    },
  );
  return review.status?.allowed ?? false;
}
