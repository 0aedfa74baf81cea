// What a Go program does with client-go and controller-runtime as they come: nothing about encodings or versions is
// set. Prints a line per step and exits 1 when one failed. KUBECONFIG names the server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	authorization "k8s.io/api/authorization/v1"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	namespace  = "upstream"
	finalizer  = "tests.muster.dev/hold"
	stepLimit  = time.Minute
	protobufIs = "application/vnd.kubernetes.protobuf"
)

var widgets = schema.GroupVersionResource{Group: "tests.muster.dev", Version: "v1", Resource: "widgets"}
var widgetKind = schema.GroupVersionKind{Group: "tests.muster.dev", Version: "v1", Kind: "Widget"}

type clients struct {
	config   *rest.Config
	kube     *kubernetes.Clientset
	strict   *kubernetes.Clientset // accepts protobuf only: no falling back to JSON
	crds     *crdclient.Clientset
	dynamic  dynamic.Interface
	metadata metadata.Interface
}

type step struct {
	name string
	run  func(context.Context, *clients) error
}

func newClients(config *rest.Config) (*clients, error) {
	strict := rest.CopyConfig(config)
	strict.ContentType = protobufIs
	strict.AcceptContentTypes = protobufIs
	c := &clients{config: config}
	var err error
	for _, try := range []func() error{
		func() error { c.kube, err = kubernetes.NewForConfig(config); return err },
		func() error { c.strict, err = kubernetes.NewForConfig(strict); return err },
		func() error { c.crds, err = crdclient.NewForConfig(config); return err },
		func() error { c.dynamic, err = dynamic.NewForConfig(config); return err },
		func() error { c.metadata, err = metadata.NewForConfig(config); return err },
	} {
		if err := try(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// wait asks until the answer is true; the step's limit ends it.
func wait(ctx context.Context, what string, ask func() (bool, error)) error {
	for {
		done, err := ask()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not come", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func expect(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func podOf(name string, command ...string) *core.Pod {
	grace := int64(0)
	return &core.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"app": "upstream"}},
		Spec: core.PodSpec{
			RestartPolicy:                 core.RestartPolicyNever,
			TerminationGracePeriodSeconds: &grace,
			Volumes:                       []core.Volume{{Name: "v", VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{}}}},
			Containers: []core.Container{{
				Name: "main", Image: "none", Command: command,
				Env:          []core.EnvVar{{Name: "A", Value: "1"}, {Name: "B", ValueFrom: &core.EnvVarSource{FieldRef: &core.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
				VolumeMounts: []core.VolumeMount{{Name: "v", MountPath: "/upstream-volume"}},
				Resources:    core.ResourceRequirements{Requests: core.ResourceList{core.ResourceCPU: resource.MustParse("10m")}},
			}},
		},
	}
}

// --- client-go ------------------------------------------------------------------------------

func makeNamespace(ctx context.Context, c *clients) error {
	_, err := c.kube.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	return err
}

func configMaps(ctx context.Context, c *clients) error {
	for i, kube := range []*kubernetes.Clientset{c.kube, c.strict} {
		api := kube.CoreV1().ConfigMaps(namespace)
		name := fmt.Sprintf("settings-%d", i)
		made, err := api.Create(ctx, &core.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "1"}, BinaryData: map[string][]byte{"b": {0, 1, 255}}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if err := expect(made.UID != "" && made.ResourceVersion != "" && string(made.BinaryData["b"]) == "\x00\x01\xff", "created: %v", made); err != nil {
			return err
		}
		stale := made.DeepCopy()
		made.Data["k"] = "2"
		if made, err = api.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if _, err = api.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return fmt.Errorf("an old version: %v", err)
		}
		if made, err = api.Patch(ctx, name, types.StrategicMergePatchType, []byte(`{"data":{"p":"3"}}`), metav1.PatchOptions{}); err != nil {
			return err
		}
		if err := expect(made.Data["k"] == "2" && made.Data["p"] == "3", "patched: %v", made.Data); err != nil {
			return err
		}
		if _, err = api.Get(ctx, "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("one that is not there: %v", err)
		}
		list, err := api.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		if err := expect(len(list.Items) == 1 && list.ResourceVersion != "", "a page: %v", list.ListMeta); err != nil {
			return err
		}
	}
	return c.strict.CoreV1().ConfigMaps(namespace).Delete(ctx, "settings-1", metav1.DeleteOptions{})
}

func pods(ctx context.Context, c *clients) error {
	for i, kube := range []*kubernetes.Clientset{c.kube, c.strict} {
		api := kube.CoreV1().Pods(namespace)
		name := fmt.Sprintf("pod-%d", i)
		if _, err := api.Create(ctx, podOf(name, "sh", "-c", "echo \"$A $B\""), metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := wait(ctx, "the pod's end", func() (bool, error) {
			pod, err := api.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			if pod.Status.Phase == core.PodFailed {
				return false, fmt.Errorf("the pod failed: %v", pod.Status)
			}
			return pod.Status.Phase == core.PodSucceeded && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].State.Terminated != nil, nil
		}); err != nil {
			return err
		}
		text, err := api.GetLogs(name, &core.PodLogOptions{}).DoRaw(ctx)
		if err != nil {
			return err
		}
		if err := expect(string(text) == "1 "+name+"\n", "its log: %q", text); err != nil {
			return err
		}
	}
	return nil
}

func podStatus(ctx context.Context, c *clients) error {
	pod := podOf("gated", "true")
	pod.Spec.SchedulingGates = []core.PodSchedulingGate{{Name: "tests.muster.dev/gate"}}
	made, err := c.kube.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status.Conditions = append(made.Status.Conditions, core.PodCondition{Type: "tests.muster.dev/Seen", Status: core.ConditionTrue, LastTransitionTime: metav1.Now()})
	made, err = c.kube.CoreV1().Pods(namespace).UpdateStatus(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	for _, condition := range made.Status.Conditions {
		if condition.Type == "tests.muster.dev/Seen" {
			return nil
		}
	}
	return fmt.Errorf("the condition is gone: %v", made.Status)
}

func evict(ctx context.Context, c *clients) error {
	return c.kube.PolicyV1().Evictions(namespace).Evict(ctx, &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "gated", Namespace: namespace}})
}

func others(ctx context.Context, c *clients) error {
	one := int32(1)
	kube := c.strict
	if _, err := kube.CoreV1().Secrets(namespace).Create(ctx, &core.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"a": "b"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := kube.CoreV1().Services(namespace).Create(ctx, &core.Service{ObjectMeta: metav1.ObjectMeta{Name: "svc"}, Spec: core.ServiceSpec{
		Selector: map[string]string{"app": "upstream"}, Ports: []core.ServicePort{{Port: 80}}}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := kube.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{}); err != nil {
		return err
	}
	if _, err := kube.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, &core.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}, Spec: core.PersistentVolumeClaimSpec{
		AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
		Resources:   core.VolumeResourceRequirements{Requests: core.ResourceList{core.ResourceStorage: resource.MustParse("1Gi")}}}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := kube.RbacV1().Roles(namespace).Create(ctx, &rbac.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbac.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := kube.CoordinationV1().Leases(namespace).Create(ctx, &coordination.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: coordination.LeaseSpec{LeaseDurationSeconds: &one, RenewTime: &metav1.MicroTime{Time: time.Now()}}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := expect(len(nodes.Items) > 0 && !nodes.Items[0].Status.Capacity.Cpu().IsZero(), "nodes: %v", nodes.Items); err != nil {
		return err
	}
	deployments, err := kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return expect(len(deployments.Items) == 0, "deployments: %v", deployments.Items)
}

func access(ctx context.Context, c *clients) error {
	review, err := c.strict.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorization.ResourceAttributes{Verb: "create", Resource: "pods", Namespace: namespace}}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return expect(review.Status.Allowed, "the owner may not make pods: %v", review.Status)
}

func watches(ctx context.Context, c *clients) error {
	for _, kube := range []*kubernetes.Clientset{c.kube, c.strict} {
		api := kube.CoreV1().ConfigMaps(namespace)
		list, err := api.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		w, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			return err
		}
		if _, err := api.Create(ctx, &core.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "watched"}}, metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := api.Delete(ctx, "watched", metav1.DeleteOptions{}); err != nil {
			return err
		}
		for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
			select {
			case got := <-w.ResultChan():
				if err := expect(got.Type == want, "%s came, not %s: %v", got.Type, want, got.Object); err != nil {
					return err
				}
			case <-ctx.Done():
				return fmt.Errorf("%s did not come", want)
			}
		}
		w.Stop()
	}
	return nil
}

func informer(ctx context.Context, c *clients) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(c.kube, 0, informers.WithNamespace(namespace))
	pods, maps := factory.Core().V1().Pods(), factory.Core().V1().ConfigMaps()
	var seen atomic.Int32
	if _, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { seen.Add(1) }}); err != nil {
		return err
	}
	_ = pods.Informer()
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("%v did not sync", kind)
		}
	}
	before := seen.Load()
	if _, err := c.kube.CoreV1().ConfigMaps(namespace).Create(ctx, &core.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "informed"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	return wait(ctx, "the new object", func() (bool, error) { return seen.Load() > before, nil })
}

func applyConfig(ctx context.Context, c *clients) error {
	api := c.kube.CoreV1().ConfigMaps(namespace)
	mine := coreapply.ConfigMap("applied", namespace).WithData(map[string]string{"a": "1"})
	if _, err := api.Apply(ctx, mine, metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return err
	}
	made, err := api.Apply(ctx, coreapply.ConfigMap("applied", namespace).WithData(map[string]string{"b": "2"}), metav1.ApplyOptions{FieldManager: "two"})
	if err != nil {
		return err
	}
	if err := expect(made.Data["a"] == "1" && made.Data["b"] == "2" && len(made.ManagedFields) == 2, "applied: %v %v", made.Data, made.ManagedFields); err != nil {
		return err
	}
	_, err = api.Apply(ctx, coreapply.ConfigMap("applied", namespace).WithData(map[string]string{"a": "3"}), metav1.ApplyOptions{FieldManager: "two"})
	return expect(apierrors.IsConflict(err), "another's field: %v", err)
}

func metadataOnly(ctx context.Context, c *clients) error {
	api := c.metadata.Resource(core.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace)
	list, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := expect(len(list.Items) > 0, "no metadata"); err != nil {
		return err
	}
	one, err := api.Patch(ctx, list.Items[0].Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"m":"1"}}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	return expect(one.Labels["m"] == "1", "patched metadata: %v", one)
}

func eventSinks(ctx context.Context, c *clients) error {
	about := podOf("pod-0")
	old := record.NewBroadcaster()
	defer old.Shutdown()
	old.StartRecordingToSink(&eventSink{ctx, c})
	old.NewRecorder(clientscheme.Scheme, core.EventSource{Component: "old"}).Event(about, core.EventTypeNormal, "Old", "an event")
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: c.kube.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	defer broadcaster.Shutdown()
	broadcaster.NewRecorder(clientscheme.Scheme, "new").Eventf(about, nil, core.EventTypeNormal, "New", "Testing", "an event")
	return wait(ctx, "both events", func() (bool, error) {
		list, err := c.kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		found := map[string]bool{}
		for _, event := range list.Items {
			found[event.Reason] = true
		}
		return found["Old"] && found["New"], nil
	})
}

type eventSink struct {
	ctx context.Context
	c   *clients
}

func (s *eventSink) Create(e *core.Event) (*core.Event, error) {
	return s.c.kube.CoreV1().Events(namespace).Create(s.ctx, e, metav1.CreateOptions{})
}
func (s *eventSink) Update(e *core.Event) (*core.Event, error) {
	return s.c.kube.CoreV1().Events(namespace).Update(s.ctx, e, metav1.UpdateOptions{})
}
func (s *eventSink) Patch(e *core.Event, patch []byte) (*core.Event, error) {
	return s.c.kube.CoreV1().Events(namespace).Patch(s.ctx, e.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
}

func leader(ctx context.Context, c *clients) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lead := make(chan struct{})
	lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "leader", Namespace: namespace}, Client: c.kube.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: "me"}}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: time.Second, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(lead) }, OnStoppedLeading: func() {}}})
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { elector.Run(ctx); close(ended) }()
	select {
	case <-lead:
	case <-ctx.Done():
		return errors.New("it does not lead")
	}
	first, err := c.kube.CoordinationV1().Leases(namespace).Get(ctx, "leader", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := wait(ctx, "a renewal", func() (bool, error) {
		lease, err := c.kube.CoordinationV1().Leases(namespace).Get(ctx, "leader", metav1.GetOptions{})
		return err == nil && lease.Spec.RenewTime.After(first.Spec.RenewTime.Time), err
	}); err != nil {
		return err
	}
	cancel()
	<-ended
	return nil
}

// --- kinds that are installed ---------------------------------------------------------------

func definition(ctx context.Context, c *clients) error {
	yes := true
	crd := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.tests.muster.dev"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: widgets.Group, Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{
					"spec": {Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{
						"size": {Type: "integer", Minimum: new(float64), Default: &apiextensions.JSON{Raw: []byte("3")}}}},
					"status": {Type: "object", XPreserveUnknownFields: &yes}}}}}}}}
	if _, err := c.crds.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := wait(ctx, "the definition", func() (bool, error) {
		made, err := c.crds.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, crd.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range made.Status.Conditions {
			if condition.Type == apiextensions.Established && condition.Status == apiextensions.ConditionTrue {
				return made.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["size"].Minimum != nil, nil
			}
		}
		return false, nil
	}); err != nil {
		return err
	}
	made, err := c.dynamic.Resource(widgets).Namespace(namespace).Create(ctx, widget("dynamic"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	size, _, err := unstructured.NestedInt64(made.Object, "spec", "size")
	if err != nil {
		return err
	}
	return expect(size == 3, "the default: %v", made.Object)
}

func widget(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetGroupVersionKind(widgetKind)
	u.SetName(name)
	u.SetNamespace(namespace)
	return u
}

// --- controller-runtime ---------------------------------------------------------------------

// Gives each Widget a ConfigMap of its own, by apply, a finalizer and a status.
type reconciler struct {
	client client.Client
	events events.EventRecorder
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	w := widget(request.Name)
	if err := r.client.Get(ctx, request.NamespacedName, w); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if w.GetDeletionTimestamp() != nil {
		if controllerutil.RemoveFinalizer(w, finalizer) {
			return reconcile.Result{}, r.client.Update(ctx, w)
		}
		return reconcile.Result{}, nil
	}
	if controllerutil.AddFinalizer(w, finalizer) {
		return reconcile.Result{}, r.client.Update(ctx, w)
	}
	owner := metav1.OwnerReference{APIVersion: "tests.muster.dev/v1", Kind: "Widget", Name: w.GetName(), UID: w.GetUID(), Controller: new(bool)}
	*owner.Controller = true
	made := &core.ConfigMap{}
	made.Name, made.Namespace = w.GetName(), w.GetNamespace()
	if _, err := controllerutil.CreateOrUpdate(ctx, r.client, made, func() error {
		made.Data = map[string]string{"made": "by a controller"}
		made.OwnerReferences = []metav1.OwnerReference{owner}
		return nil
	}); err != nil {
		return reconcile.Result{}, err
	}
	applied := coreapply.ConfigMap(w.GetName()+"-applied", namespace).WithData(map[string]string{"applied": "yes"})
	if err := r.client.Apply(ctx, applied, client.FieldOwner("tests"), client.ForceOwnership); err != nil {
		return reconcile.Result{}, err
	}
	if phase, _, _ := unstructured.NestedString(w.Object, "status", "phase"); phase == "Ready" {
		return reconcile.Result{}, nil
	}
	r.events.Eventf(w, nil, core.EventTypeNormal, "Reconciled", "Reconcile", "it is ready")
	before := w.DeepCopy()
	if err := unstructured.SetNestedField(w.Object, "Ready", "status", "phase"); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.client.Status().Patch(ctx, w, client.MergeFrom(before))
}

type podCounter struct {
	client client.Client
	seen   atomic.Int32
}

func (p *podCounter) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pod := &core.Pod{}
	if err := p.client.Get(ctx, request.NamespacedName, pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if pod.Status.Phase == core.PodSucceeded && pod.Labels["counted"] == "" {
		before := pod.DeepCopy()
		pod.Labels["counted"] = "yes"
		if err := p.client.Patch(ctx, pod, client.StrategicMergeFrom(before)); err != nil {
			return reconcile.Result{}, err
		}
		p.seen.Add(1)
	}
	return reconcile.Result{}, nil
}

func manager(ctx context.Context, c *clients) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), apiextensions.AddToScheme(scheme)); err != nil {
		return err
	}
	m, err := ctrl.NewManager(c.config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionID: "upstream.tests.muster.dev", LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true})
	if err != nil {
		return err
	}
	counter := &podCounter{client: m.GetClient()}
	if err := ctrl.NewControllerManagedBy(m).Named("widgets").For(widget("")).Owns(&core.ConfigMap{}).
		Complete(&reconciler{client: m.GetClient(), events: m.GetEventRecorder("widgets")}); err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(m).Named("pods").For(&core.Pod{}).Complete(counter); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	w := widget("managed")
	if err := m.GetClient().Create(ctx, w); err != nil {
		return fmt.Errorf("making a widget: %w", err)
	}
	if err := wait(ctx, "the widget's status", func() (bool, error) {
		if err := m.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
			return false, err
		}
		phase, _, _ := unstructured.NestedString(w.Object, "status", "phase")
		return phase == "Ready", nil
	}); err != nil {
		return err
	}
	made := &core.ConfigMap{}
	if err := m.GetAPIReader().Get(ctx, types.NamespacedName{Namespace: namespace, Name: "managed-applied"}, made); err != nil {
		return err
	}
	if err := expect(made.Data["applied"] == "yes", "what was applied: %v", made.Data); err != nil {
		return err
	}
	if err := wait(ctx, "the pods to be counted", func() (bool, error) { return counter.seen.Load() >= 2, nil }); err != nil {
		return err
	}
	if err := m.GetClient().Create(ctx, podOf("managed", "true")); err != nil {
		return fmt.Errorf("making a pod: %w", err)
	}
	if err := wait(ctx, "the new pod to be counted", func() (bool, error) { return counter.seen.Load() >= 3, nil }); err != nil {
		return err
	}
	crds := &apiextensions.CustomResourceDefinitionList{}
	if err := m.GetAPIReader().List(ctx, crds); err != nil {
		return err
	}
	for _, name := range []string{"managed", "dynamic"} { // both have the finalizer by now
		if err := m.GetClient().Delete(ctx, widget(name)); err != nil {
			return err
		}
	}
	if err := wait(ctx, "the finalizer and the garbage collector", func() (bool, error) {
		err := m.GetAPIReader().Get(ctx, types.NamespacedName{Namespace: namespace, Name: "managed"}, made)
		if err != nil {
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}
		return false, nil
	}); err != nil {
		return err
	}
	left := &unstructured.UnstructuredList{}
	left.SetGroupVersionKind(widgetKind)
	if err := wait(ctx, "the widgets' end", func() (bool, error) {
		err := m.GetAPIReader().List(ctx, left, client.InNamespace(namespace))
		return len(left.Items) == 0, err
	}); err != nil {
		return err
	}
	cancel()
	return <-ended
}

func cleanUp(ctx context.Context, c *clients) error {
	if err := c.crds.ApiextensionsV1().CustomResourceDefinitions().Delete(ctx, "widgets.tests.muster.dev", metav1.DeleteOptions{}); err != nil {
		return err
	}
	policy := metav1.DeletePropagationForeground
	if err := c.kube.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		return err
	}
	return wait(ctx, "the namespace to be gone", func() (bool, error) {
		_, err := c.kube.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// jobs runs an Indexed Job to its end, as an operator would that makes its launcher one.
func jobs(ctx context.Context, c *clients) error {
	indexed, three := batch.IndexedCompletion, int32(3)
	template := podOf("", "sh", "-c", "echo index $JOB_COMPLETION_INDEX")
	made, err := c.kube.BatchV1().Jobs(namespace).Create(ctx, &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: "indexed"}, Spec: batch.JobSpec{
		Completions: &three, Parallelism: &three, CompletionMode: &indexed,
		Template: core.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec}}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := expect(made.Spec.Selector != nil && made.Generation == 1, "made: %v", made); err != nil {
		return err
	}
	if err := wait(ctx, "the job's end", func() (bool, error) {
		job, err := c.strict.BatchV1().Jobs(namespace).Get(ctx, "indexed", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return job.Status.Succeeded == 3 && job.Status.CompletedIndexes == "0-2" && job.Status.CompletionTime != nil, nil
	}); err != nil {
		return err
	}
	cron := &batch.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}, Spec: batch.CronJobSpec{Schedule: "0 3 * * *", JobTemplate: batch.JobTemplateSpec{Spec: batch.JobSpec{Template: made.Spec.Template}}}}
	if _, err := c.kube.BatchV1().CronJobs(namespace).Create(ctx, cron, metav1.CreateOptions{}); err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	if err := c.kube.BatchV1().Jobs(namespace).Delete(ctx, "indexed", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		return err
	}
	return wait(ctx, "its pods to go", func() (bool, error) {
		left, err := c.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "job-name=indexed"})
		return err == nil && len(left.Items) == 0, err
	})
}

var steps = []step{
	{"client-go: a namespace", makeNamespace},
	{"client-go: config maps, every verb", configMaps},
	{"client-go: a pod runs, its log", pods},
	{"client-go: a pod's status", podStatus},
	{"client-go: eviction", evict},
	{"client-go: a Job and a CronJob", jobs},
	{"client-go: other kinds", others},
	{"client-go: access review", access},
	{"client-go: watches", watches},
	{"client-go: informers", informer},
	{"client-go: server-side apply", applyConfig},
	{"client-go: metadata only", metadataOnly},
	{"client-go: events, old and new", eventSinks},
	{"client-go: leader election", leader},
	{"client-go: a CRD and its objects", definition},
	{"controller-runtime: a manager", manager},
	{"client-go: everything goes again", cleanUp},
}

func main() {
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err == nil {
		config.QPS, config.Burst = 1000, 1000
	}
	var c *clients
	if err == nil {
		c, err = newClients(config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	failed := 0
	for _, s := range steps {
		ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
		start := time.Now()
		err := s.run(ctx, c)
		cancel()
		if err != nil {
			failed++
			fmt.Printf("FAIL  %s: %v\n", s.name, err)
			continue
		}
		fmt.Printf("ok    %-45s %6.1f s\n", s.name, time.Since(start).Seconds())
	}
	fmt.Printf("%d passed, %d failed\n", len(steps)-failed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
