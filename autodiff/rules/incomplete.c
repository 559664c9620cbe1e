/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete gamma and beta functions.  By their last argument they have the
 * density under the integral; by a, Igamma alone has a derivative, an op that
 * has none itself.  And numbers that are drawn from the gamma distribution.
 */
#include "autodiff/rule.h"

/* x^(a - 1) e^-x / gamma(a), by its logarithm. */
static eddy_output gamma_density(eddy_gradient *g)
{
    const eddy_output power =
        OP("Mul", OP("Sub", X(0), NUMBER(0, 1.0)), OP("Log", X(1)));

    return OP("Exp", OP("Sub", OP("Sub", power, X(1)), OP("Lgamma", X(0))));
}

static void set_igamma(eddy_gradient *g, eddy_output dy)
{
    if (WANTS(0))
        DX_BROADCAST(0, 1, OP("Mul", dy, OP("IgammaGradA", X(0), X(1))));
    if (WANTS(1))
        DX_BROADCAST(1, 0, OP("Mul", dy, gamma_density(g)));
}

eddy_status eddy__grad_igamma(eddy_gradient *g)
{
    set_igamma(g, DY(0));
    return EDDY_OK;
}

eddy_status eddy__grad_igammac(eddy_gradient *g)
{
    set_igamma(g, OP("Neg", DY(0)));
    return EDDY_OK;
}

/* a, b, x: by x alone, as in TensorFlow. */
eddy_status eddy__grad_betainc(eddy_gradient *g)
{
    const eddy_output one = NUMBER(0, 1.0);
    eddy_output a, b, beta, power;

    if (!WANTS(2))
        return EDDY_OK;
    a = X(0);
    b = X(1);
    beta = OP("Sub", OP("AddV2", OP("Lgamma", a), OP("Lgamma", b)),
              OP("Lgamma", OP("AddV2", a, b)));
    power = OP("AddV2", OP("Xlog1py", OP("Sub", b, one), OP("Neg", X(2))),
               OP("Xlogy", OP("Sub", a, one), X(2)));
    eddy__rule_set_summed(g, 2,
                          OP("Mul", DY(0), OP("Exp", OP("Sub", power, beta))));
    return EDDY_OK;
}

/*
 * A number drawn from a gamma distribution, as it moves with alpha (implicit
 * reparameterization); each alpha has its own along the first dimensions.
 */
static void set_drawn(eddy_gradient *g, uint32_t alpha)
{
    eddy__rule_set_summed(
        g, alpha, OP("Mul", DY(0), OP("RandomGammaGrad", X(alpha), Y(0))));
}

eddy_status eddy__grad_random_gamma(eddy_gradient *g)
{
    set_drawn(g, 1);
    return EDDY_OK;
}

eddy_status eddy__grad_stateless_gamma(eddy_gradient *g)
{
    set_drawn(g, 2);
    return EDDY_OK;
}

eddy_status eddy__grad_counted_gamma(eddy_gradient *g)
{
    set_drawn(g, 4);
    return EDDY_OK;
}
