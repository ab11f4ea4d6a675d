//go:build crds

// The modules whose custom resource definitions the chart's tests put into the API server.
package charts

import (
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
	_ "sigs.k8s.io/gateway-api/apis/v1"
)
