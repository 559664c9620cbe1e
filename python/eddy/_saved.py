"""SavedModels, where the library reads them."""
from ._base import CLASSES, lib


def load_saved_model(path, context):
    if not hasattr(lib, "eddy_savedmodel_load"):
        raise CLASSES["UNIMPLEMENTED"]("this eddy reads no SavedModels",
                                       "UNIMPLEMENTED")
    raise NotImplementedError
