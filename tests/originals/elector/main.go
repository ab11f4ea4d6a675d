// Command elector takes part in an election as components of Kubernetes 1.19 to 1.22 did: with the client-go of then.
//
// Lines on standard output say when it led: seconds since boot, and 1 or 0, every 5 ms and whenever that changes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const clockBoottime = 7

// now is what Python's time.clock_gettime(time.CLOCK_BOOTTIME) says at the same moment.
func now() float64 {
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&at)), 0)
	return float64(at.Sec) + float64(at.Nsec)/1e9
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	server := flag.String("server", "", "address of the API server")
	ca := flag.String("ca", "", "file of its authority's certificate")
	kind := flag.String("lock", "", "as in --leader-elect-resource-lock")
	namespace := flag.String("namespace", "kube-system", "of the lock")
	name := flag.String("name", "", "of the lock")
	identity := flag.String("identity", "", "of this candidate")
	lease := flag.Duration("lease", 15*time.Second, "")
	renew := flag.Duration("renew", 10*time.Second, "")
	retry := flag.Duration("retry", 2*time.Second, "")
	flag.Parse()

	config := &rest.Config{Host: *server, BearerToken: os.Getenv("TOKEN"), Timeout: *renew / 2, QPS: -1}
	config.TLSClientConfig.CAFile = *ca
	core, err := corev1.NewForConfig(config)
	must(err)
	coordination, err := coordinationv1.NewForConfig(config)
	must(err)
	lock, err := resourcelock.New(*kind, *namespace, *name, core, coordination,
		resourcelock.ResourceLockConfig{Identity: *identity})
	must(err)

	var leads int32
	say := func() { fmt.Printf("%.6f %d\n", now(), atomic.LoadInt32(&leads)) }
	go func() {
		for range time.Tick(5 * time.Millisecond) {
			say()
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() {
		<-asked
		// Whoever gives a lock back must have ended its work before.
		atomic.StoreInt32(&leads, 0)
		say()
		cancel()
	}()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: *lease, RenewDeadline: *renew, RetryPeriod: *retry, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { atomic.StoreInt32(&leads, 1); say() },
			OnStoppedLeading: func() { atomic.StoreInt32(&leads, 0); say() },
		},
	})
}
