/* SPDX-License-Identifier: Apache-2.0 */
/* The whole public interface of eddy. */
#ifndef EDDY_H
#define EDDY_H

#include "eddy/analysis.h"
#include "eddy/caffe2.h"
#include "eddy/cntk.h"
#include "eddy/context.h"
#include "eddy/control_flow.h"
#include "eddy/dot.h"
#include "eddy/emit.h"
#include "eddy/gradients.h"
#include "eddy/graph.h"
#include "eddy/graphdef.h"
#include "eddy/host.h"
#include "eddy/immediate.h"
#include "eddy/limits.h"
#include "eddy/lower.h"
#include "eddy/mxnet.h"
#include "eddy/nnc.h"
#include "eddy/npy.h"
#include "eddy/onnx_loop.h"
#include "eddy/onnx_model.h"
#include "eddy/op.h"
#include "eddy/plan.h"
#include "eddy/run.h"
#include "eddy/savedmodel.h"
#include "eddy/session.h"
#include "eddy/stats.h"
#include "eddy/status.h"
#include "eddy/tensor.h"
#include "eddy/tensorflow.h"
#include "eddy/theano.h"
#include "eddy/trace.h"
#include "eddy/unroll.h"
#include "eddy/version.h"

#endif
