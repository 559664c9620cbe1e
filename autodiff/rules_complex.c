/*
 * Complex numbers and their parts.  The gradient of a real function of z is
 * its derivative by the real part plus i times that by the imaginary one.
 */
#include "autodiff/rule.h"

static eddy_output from_parts(eddy_gradient *g, eddy_output real,
                              eddy_output imaginary)
{
    return OP("Complex", real, imaginary);
}

static eddy_output as_complex(eddy_gradient *g, eddy_output real)
{
    return from_parts(g, real, OP("ZerosLike", real));
}

/* A part of the gradient in a dtype in which no complex number is computed. */
static eddy_output given_float(eddy_gradient *g)
{
    return eddy__rule_cast(g, DY(0), eddy__rule_output_dtype(g, 0),
                           EDDY_FLOAT32);
}

eddy_status eddy__grad_complex(eddy_gradient *g)
{
    static const char *const ops[] = {"Real", "Imag"};

    for (uint32_t i = 0; i < 2; i++)
        if (WANTS(i))
            DX_BROADCAST(i, 1 - i,
                         eddy__rule_cast(g, OP(ops[i], DY(0)), EDDY_FLOAT32,
                                         eddy_gradient_input_dtype(g, i)));
    return EDDY_OK;
}

eddy_status eddy__grad_real(eddy_gradient *g)
{
    DX(0, as_complex(g, given_float(g)));
    return EDDY_OK;
}

eddy_status eddy__grad_imag(eddy_gradient *g)
{
    const eddy_output dy = given_float(g);

    DX(0, from_parts(g, OP("ZerosLike", dy), dy));
    return EDDY_OK;
}

eddy_status eddy__grad_conj(eddy_gradient *g)
{
    DX(0, OP("Conj", DY(0)));
    return EDDY_OK;
}

/* z / |z|; 0 where z is. */
eddy_status eddy__grad_complex_abs(eddy_gradient *g)
{
    const eddy_output length =
        eddy__rule_cast(g, Y(0), eddy__rule_output_dtype(g, 0), EDDY_FLOAT32);

    DX(0, OP("DivNoNan", OP("Mul", as_complex(g, given_float(g)), X(0)),
             as_complex(g, length)));
    return EDDY_OK;
}

/* -dy / (im z + i re z) */
eddy_status eddy__grad_angle(eddy_gradient *g)
{
    const eddy_output z = X(0);
    const eddy_output turned = from_parts(g, OP("Imag", z), OP("Real", z));

    DX(0, OP("Neg", OP("RealDiv", as_complex(g, given_float(g)), turned)));
    return EDDY_OK;
}
