BpJ
ua>