/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Complex numbers and their parts.  The gradient of a real function of z is
 * its derivative by the real part plus i times that by the imaginary one.
 */
#include "autodiff/rule.h"
#include "core/value/dtype.h"

static eddy_output from_parts(eddy_gradient *g, eddy_dtype dtype,
                              eddy_output real, eddy_output imaginary)
{
    return OP_WITH("Complex",
                   ((const eddy_attr[]){eddy_attr_type("Tout", &dtype)}), real,
                   imaginary);
}

/* `op` is Real or Imag, of a complex number of `dtype`. */
static eddy_output part_of(eddy_gradient *g, const char *op, eddy_dtype dtype,
                           eddy_output whole)
{
    const eddy_dtype part = eddy__dtype_of_parts(dtype);

    return OP_WITH(op, ((const eddy_attr[]){eddy_attr_type("Tout", &part)}),
                   whole);
}

static eddy_output as_complex(eddy_gradient *g, eddy_output real)
{
    return from_parts(g, eddy_gradient_input_dtype(g, 0), real,
                      OP("ZerosLike", real));
}

/* `v`, of output 0's dtype, in that of the parts of the number that is input 0.
 */
static eddy_output as_part(eddy_gradient *g, eddy_output v)
{
    return eddy__rule_cast(
        g, v, eddy__rule_output_dtype(g, 0),
        eddy__dtype_of_parts(eddy_gradient_input_dtype(g, 0)));
}

eddy_status eddy__grad_complex(eddy_gradient *g)
{
    static const char *const ops[] = {"Real", "Imag"};
    const eddy_dtype dtype = eddy__rule_output_dtype(g, 0);

    for (uint32_t i = 0; i < 2; i++)
        if (WANTS(i))
            DX_BROADCAST(i, 1 - i,
                         eddy__rule_cast(g, part_of(g, ops[i], dtype, DY(0)),
                                         eddy__dtype_of_parts(dtype),
                                         eddy_gradient_input_dtype(g, i)));
    return EDDY_OK;
}

eddy_status eddy__grad_real(eddy_gradient *g)
{
    DX(0, as_complex(g, as_part(g, DY(0))));
    return EDDY_OK;
}

eddy_status eddy__grad_imag(eddy_gradient *g)
{
    const eddy_output dy = as_part(g, DY(0));

    DX(0,
       from_parts(g, eddy_gradient_input_dtype(g, 0), OP("ZerosLike", dy), dy));
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
    DX(0, OP("DivNoNan", OP("Mul", as_complex(g, as_part(g, DY(0))), X(0)),
             as_complex(g, as_part(g, Y(0)))));
    return EDDY_OK;
}

/* -dy / (im z + i re z) */
eddy_status eddy__grad_angle(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);
    const eddy_output turned =
        from_parts(g, dtype, part_of(g, "Imag", dtype, X(0)),
                   part_of(g, "Real", dtype, X(0)));

    DX(0, OP("Neg", OP("RealDiv", as_complex(g, as_part(g, DY(0))), turned)));
    return EDDY_OK;
}
